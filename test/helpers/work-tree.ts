import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonValue } from "../../shared/json.ts";
import { noRescans, startTestDaemon, type TestDaemon, type TestDaemonOptions } from "./daemon.ts";
import { saveByRename } from "./shop.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** A daemon with an in-tree repository, `site`, whose folder holds nothing but its file; the owner watches it. */
export interface WorkTree extends AsyncDisposable {
  readonly t: TestDaemon;
  readonly home: string;
  readonly folder: string;
  /** Its `.repoconf.json`. */
  readonly file: string;
  /** Replaces its file as git does, and waits until the daemon has read it. */
  pull(text: string): Promise<void>;
  /** The effective value of a field of the scope svc. */
  value(field: string): Promise<JsonValue | undefined>;
  set(fields: { readonly [path: string]: JsonValue }): Promise<readonly { readonly code: number }[]>;
}

export const treeText = `{\n  // ours\n  "config": { "svc": { "timeout": 30 } }\n}\n`;

/** Null: its work tree has no file. */
export async function startWorkTree(
  text: string | null = treeText,
  options: TestDaemonOptions = {},
): Promise<WorkTree> {
  const above = await temporaryFolder();
  const [home, folder] = [join(above.path, "home"), join(above.path, "site")];
  const file = join(folder, ".repoconf.json");
  await Promise.all([mkdir(home), mkdir(folder)]);
  if (text !== null) await writeFile(file, text);
  const t = await startTestDaemon({ home, ...noRescans, ...options });
  const { errors } = await t.owner.call("repo/add", { id: "site", name: "site", path: folder, inTree: true });
  if (errors.length > 0) throw new Error(JSON.stringify(errors));
  await t.owner.call("config/watch", { repo: "site" });
  return {
    t,
    home,
    folder,
    file,
    pull: async pulled => {
      await saveByRename(file, pulled);
      await t.owner.call("file/read", { repo: "site" });
    },
    value: async field => (await t.owner.call("config/list", { repo: "site" })).result["svc"]?.[field],
    set: async fields => (await t.owner.call("config/set", { repo: "site", ...fields })).errors,
    [Symbol.asyncDispose]: async () => {
      await t[Symbol.asyncDispose]();
      await above[Symbol.asyncDispose]();
    },
  };
}
