import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readForeignFile, readForeignText } from "../../../main/files/foreign-file.ts";
import { FileTooLargeError, UnreadableFileError } from "../../../main/files/unreadable-file-error.ts";
import { watchFileSystem } from "../../helpers/file-system.ts";
import { hostileEntries } from "../../helpers/hostile-entries.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const maximumBytes = 1_000;

/** Those that are refused even where links are followed. */
const alsoBehindLinks = [
  "a pipe",
  "a socket",
  "a folder",
  "an endless device",
  "a link to an endless device",
  "a link to a pipe",
  "a link to a folder",
  "a file that claims 5 GB",
  "an unreadable file",
];

test.skipIf(process.platform === "win32").each(Object.entries(hostileEntries))("%s is refused", async (kind, make) => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "file");
  await make(path);
  for (const followsLinks of alsoBehindLinks.includes(kind) ? [false, true] : [false])
    await expect(readForeignFile(path, { maximumBytes, followsLinks })).rejects.toThrow(UnreadableFileError);
});

test("a device is not opened", async () => {
  const fileSystem = watchFileSystem();
  const read = readForeignFile("/dev/null", { maximumBytes, followsLinks: true, fileSystem });
  await expect(read).rejects.toThrow("not a regular file");
  expect(fileSystem.calls).toEqual([]);
});

test.skipIf(process.platform !== "linux")(
  "of a file that reports no size, at most one byte too many is read",
  async () => {
    const fileSystem = watchFileSystem();
    let bytes = 0;
    fileSystem.takes = (_, wanted) => {
      bytes += wanted;
      return wanted;
    };
    const read = readForeignFile("/proc/self/status", { maximumBytes: 100, fileSystem });
    await expect(read).rejects.toThrow(FileTooLargeError);
    expect(bytes).toBeLessThanOrEqual(101);
    const status = await readForeignFile("/proc/self/status", { maximumBytes: 100_000 });
    expect(status?.bytes.toString()).toContain("Name:");
    // Its reads fail unless they are of certain sizes.
    expect(await readForeignText("/proc/self/pagemap", { maximumBytes })).toBe(null);
  },
);

test("a file that grows while it is read is refused when it is too large", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "file");
  await writeFile(path, "x".repeat(10));
  const fileSystem = watchFileSystem();
  fileSystem.before = async ({ operation }) => {
    if (operation === "read") await writeFile(path, "x".repeat(500), { flag: "a" });
  };
  await expect(readForeignFile(path, { maximumBytes, fileSystem })).rejects.toThrow(FileTooLargeError);
});

test.each([0, 1, maximumBytes])("a file of %s bytes is read as a whole, also in parts", async size => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "file");
  await writeFile(path, "x".repeat(size));
  const fileSystem = watchFileSystem();
  fileSystem.takes = (_, bytes) => Math.ceil(bytes / 2);
  for (const options of [{ maximumBytes }, { maximumBytes, fileSystem }])
    expect((await readForeignFile(path, options))?.bytes.toString()).toBe("x".repeat(size));
});

test("a file that does not exist is none", async () => {
  await using folder = await temporaryFolder();
  expect(await readForeignFile(join(folder.path, "file"), { maximumBytes })).toBe(null);
});
