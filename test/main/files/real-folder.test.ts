import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type NamedDisk, realFolder } from "../../../main/files/real-folder.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

/** A double of a disk at /disk that ignores the case of names; what is above it does not. No such disk can be mounted without being root. */
function diskWith(...folders: readonly string[]): NamedDisk {
  const known = ["/", "/disk", ...folders];
  const find = (path: string) => {
    const found = known.findIndex(one =>
      path.startsWith("/disk/") ? one.toLowerCase() === path.toLowerCase() : one === path,
    );
    if (found < 0) throw new Error(`ENOENT: ${path}`);
    return found;
  };
  return {
    realpath: async path => path,
    lstat: async path => find(path),
    readdir: async path => {
      const folder = known[find(path)];
      return known.flatMap(one =>
        one.slice(0, one.lastIndexOf("/")) === folder ? [one.slice(one.lastIndexOf("/") + 1)] : [],
      );
    },
  };
}

test("a folder is spelled as on a disk that ignores the case of names, and otherwise as it was named", async () => {
  const disk = diskWith("/disk/Shops", "/disk/Shops/Web", "/disk/Shops/Web/2", "/disk/Straße");
  const spelled = (path: string) => realFolder(path, disk);
  expect(await spelled("/disk/shops/WEB")).toBe("/disk/Shops/Web");
  expect(await spelled("/disk/shops/web/2")).toBe("/disk/Shops/Web/2");
  expect(await spelled("/disk/STRASSE")).toBe("/disk/STRASSE");
  expect(await spelled("/disk/straße")).toBe("/disk/Straße");
  for (const path of ["/", "/disk", "/disk/Shops/Web"]) expect(await spelled(path)).toBe(path);

  await using folder = await temporaryFolder();
  const path = join(folder.path, "Shop");
  await mkdir(path);
  await mkdir(join(folder.path, "SHOP"));
  await symlink(path, join(folder.path, "link"));
  expect(await realFolder(join(folder.path, "link"))).toBe(path);
  await expect(realFolder(join(folder.path, "missing"))).rejects.toThrow("ENOENT");
});
