import type { Command } from "commander";
import { addHomeOption } from "../command-options.ts";

/** `repoconf service install|remove`: starts the daemon at login with a systemd user unit. */
export function addServiceCommand(program: Command): void {
  const service = program.command("service").description("run the daemon as a systemd user service (Linux)");
  addHomeOption(service.command("install"))
    .description("install a user unit for the daemon, and start it now and at each login")
    .action(async (options: { readonly home?: string }) => {
      const { installService } = await import("../system/systemd-unit.ts");
      await installService(options);
    });
  service
    .command("remove")
    .description("stop the daemon and uninstall its unit; the home is kept")
    .action(async () => {
      const { removeService } = await import("../system/systemd-unit.ts");
      await removeService();
    });
}
