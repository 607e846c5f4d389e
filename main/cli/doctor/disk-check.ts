import { diskProblem } from "../../home/disk.ts";
import type { Home } from "../../home/home.ts";
import type { DaemonInfo } from "./daemon-check.ts";
import { type Finding, problem } from "./finding.ts";

/** Checks whether the home can be written. */
export async function checkDisk({ folder }: Home): Promise<Finding[]> {
  const why = await diskProblem(folder);
  if (why === undefined) return [];
  const action =
    "Make room, or let it be written. Until then changes may be refused (1108), and no daemon may start; nothing that was acknowledged is lost.";
  return [problem("disk", `${folder} cannot be written: ${why}`, action)];
}

/** Names repositories whose file or history the daemon cannot write now. */
export function checkUnwritten({ entries }: DaemonInfo): Finding[] {
  const action = "Remove the cause: the daemon keeps trying, and no value is lost meanwhile.";
  return entries.flatMap(({ id, name, health }) =>
    health
      .filter(({ code }) => code === 1108)
      .map(({ message }) => problem("repositories", `${name}: ${message}`, action, { repo: id })),
  );
}
