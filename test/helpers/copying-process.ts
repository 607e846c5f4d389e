/**
 * Copies a home to a shared log or back, and dies by SIGKILL right before a step: `copying-process.ts DIRECTION HOME ADDRESS STEP`. A step
 * is a call that replaces or removes the home's settings or a file of its log; if it does not die, its output is the number of all.
 */
import { promises } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { homeAt } from "../../main/home/home.ts";

const [, , direction, folder = "", address = "", step] = process.argv;
const home = homeAt(folder);
let steps = 0;
for (const name of ["rename", "rm", "unlink"] as const) {
  const call = promises[name] as (path: string, ...more: unknown[]) => Promise<unknown>;
  const counted = (path: string, ...more: unknown[]) => {
    if ([path, ...more].some(one => one === home.settingsFile || String(one).startsWith(home.log))) steps += 1;
    if (steps === Number(step)) process.kill(process.pid, "SIGKILL");
    return call(path, ...more);
  };
  Object.assign(promises, { [name]: counted });
}
syncBuiltinESMExports();
const { copyFromShared, copyToShared } = await import("../../main/daemon/home/copy-log.ts");
await (direction === "to" ? copyToShared : copyFromShared)({ home, address, onProgress: () => {} });
process.stdout.write(String(steps));
