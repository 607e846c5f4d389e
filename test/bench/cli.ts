import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { repoconfCommand } from "../helpers/spawned-daemon.ts";
import { atMost, type Compared, commandTimeOf, compare } from "./compare.ts";
import { makeHome, repositoryId } from "./homes.ts";
import type { Section } from "./section.ts";

/** Commands as scripts use them: one process for every value. */
export const cli: Section = {
  name: "cli",
  title: "Duration of a command while the daemon is running",
  run: async machine => {
    const home = await makeHome(machine, 1);
    await using _daemon = await machine.daemon(home);
    const contender = (name: string, command: string, args: readonly string[], folder?: string) =>
      commandTimeOf(machine, name, command, args, folder);
    const node = process.execPath;
    const get = ["get", "svc.timeout", "--repo", repositoryId(0), "--home", home];
    const goal = { ...atMost(3), text: "under 3" };
    const others: Compared[] = [{ contender: contender("node -e 0", node, ["-e", "0"]), goal }];
    if (machine.has("git")) {
      const folder = await machine.newFolder("git");
      await mkdir(folder, { recursive: true });
      await machine.time("git", ["init", "--quiet", folder]);
      await machine.time("git", ["config", "svc.timeout", "30"], folder);
      others.push({ contender: contender("git config --get", "git", ["config", "--get", "svc.timeout"], folder) });
    }
    const client = contender("only the typed client", node, [
      "--input-type=module",
      "-e",
      `import { connect } from ${JSON.stringify(join(repoconfCommand, "../client.js"))};
       using client = await connect({ home: ${JSON.stringify(home)} });
       await client.run("config/list", { repo: ${JSON.stringify(repositoryId(0))}, field: "svc.timeout" });`,
    ]);
    const own = contender("get", node, [repoconfCommand, ...get]);
    return await compare(machine, "repoconf get svc.timeout", "ms", own, [...others, { contender: client }]);
  },
};
