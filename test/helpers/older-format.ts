import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { conversions, privateFile } from "../../main/home/prepare-home.ts";
import { isJsonObject, type JsonObject } from "../../shared/json.ts";

/** A home of an invented format 0: its repositories' files had the values beside the name. */
export async function makeOlderHome(folder: string): Promise<void> {
  await mkdir(join(folder, "repos"), { recursive: true });
  await writeFile(join(folder, "format"), "0\n");
  for (const [id, timeout] of Object.entries(olderTimeouts))
    await writeFile(join(folder, `repos/${id}.json`), JSON.stringify({ name: id, svc: { timeout } }));
}

/** The timeouts in such a home. */
export const olderTimeouts: { readonly [id: string]: number } = { cellar: 1, shop: 2, tower: 3 };

/** Makes this process convert homes of that format. `onFile` is called before each file, and after the last one. */
export function convertOlderHomes(onFile: () => void = () => {}): void {
  conversions.unshift({
    from: 0,
    convert: async home => {
      for (const name of (await readdir(home.repositories)).sort()) {
        onFile();
        const path = join(home.repositories, name);
        const { svc, ...others }: JsonObject = JSON.parse(await readFile(path, "utf8"));
        if (isJsonObject(svc)) await privateFile(home, path).write(JSON.stringify({ ...others, config: { svc } }));
      }
      onFile();
    },
  });
}
