import type { Command } from "commander";
import { addChangeValuesOptions, type ChangeValuesOptions } from "../change/change-values.ts";

/** `repoconf unset FIELD...`: removes stored values, so that the defaults apply. */
export function addUnsetCommand(program: Command): void {
  addChangeValuesOptions(program.command("unset"))
    .argument("<field...>", "such as svc.timeout, or a place inside a value: svc.services.web")
    .description("remove stored values, so that the defaults apply, or members and items inside values")
    .action(unset);
}

async function unset(names: readonly string[], options: ChangeValuesOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const { changeValues } = await import("../change/change-values.ts");
  const { listFields } = await import("../connect/fields.ts");
  const { readTyped } = await import("../change/value-place.ts");
  await withSession(options, async ({ client }) => {
    const fields = await listFields(client);
    const typed = names.map(place => ({ place, op: "unset" as const }));
    await changeValues(client, fields, readTyped(typed, fields), options);
  });
}
