import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonValue } from "../../shared/json.ts";
import { noRescans, startTestDaemon, type TestDaemonOptions } from "./daemon.ts";
import { saveByRename } from "./shop.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export const treeText = `{\n  // ours\n  "config": { "svc": { "timeout": 30 } }\n}\n`;

/** A daemon with an in-tree repository, whose folder has nothing but its file with this text (null: not even that). The owner watches it. */
export async function startWorkTree(text: string | null = treeText, options: TestDaemonOptions = {}, repo = "site") {
  const above = await temporaryFolder();
  const [home, folder] = [join(above.path, "home"), join(above.path, repo)];
  const file = join(folder, ".repoconf.json");
  await Promise.all([mkdir(home), mkdir(folder)]);
  if (text !== null) await writeFile(file, text);
  const t = await startTestDaemon({ home, ...noRescans, ...options });
  const { errors } = await t.owner.call("repo/add", { id: repo, name: repo, path: folder, inTree: true });
  if (errors.length > 0) throw new Error(JSON.stringify(errors));
  await t.owner.call("config/watch", { repo });
  return {
    t,
    home,
    folder,
    file,
    /** Replaces its file as git does, and waits until the daemon has read it. */
    pull: async (pulled: string) => {
      await saveByRename(file, pulled);
      await t.owner.call("file/read", { repo });
    },
    /** The effective value of a field of the scope svc. */
    value: async (field: string): Promise<JsonValue | undefined> =>
      (await t.owner.call("config/list", { repo })).result["svc"]?.[field],
    set: async (fields: { readonly [path: string]: JsonValue }) =>
      (await t.owner.call("config/set", { repo, ...fields })).errors,
    [Symbol.asyncDispose]: async () => {
      await t[Symbol.asyncDispose]();
      await above[Symbol.asyncDispose]();
    },
  };
}
