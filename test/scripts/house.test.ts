import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { limits, problemsOf } from "../../scripts/house/limits.ts";
import { measureHouse } from "../../scripts/house/measure.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const noFiles = { ...limits, files: {} };

async function houseWith(files: { readonly [path: string]: string }, mutants = 0) {
  await using project = await temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(project.path, dirname(path)), { recursive: true });
    await writeFile(join(project.path, path), text);
  }
  return measureHouse(project.path, mutants);
}

const lines = (count: number) => "// a line\n".repeat(count);

test("the check names files that import each other in a circle, by whichever kind of import", async () => {
  const house = await houseWith({
    "main/store/a.ts": 'import type { B } from "./log/b.ts";\n',
    "main/store/log/b.ts": 'export * from "../../files/c.ts";\nexport type B = string;\n',
    "main/files/c.ts": 'const load = () => import("../d.ts");\n',
    "main/d.ts": 'type A = import("./store/a.ts").A;\n',
    "main/e.ts": 'import { B } from "./store/log/b.ts";\nimport "socket.io";\n',
  });
  const circle = ["main/d.ts", "main/files/c.ts", "main/store/a.ts", "main/store/log/b.ts"];
  expect(house.circles).toEqual([circle]);
  expect(problemsOf(house, noFiles)).toEqual([
    `Files import each other in circles, types counted:\n  ${circle.join(", ")}`,
  ]);
});

test("the floors of the store are its longest chain of imports, in which a circle is one floor", async () => {
  const house = await houseWith({
    "main/store/store.ts": 'import "./log/log.ts";\nimport "./values/a.ts";\n',
    "main/store/values/a.ts": 'import "./b.ts";\n',
    "main/store/values/b.ts": 'import "./a.ts";\nimport "../log/log.ts";\n',
    "main/store/log/log.ts": 'import "./frame.ts";\nimport "../../files/not-of-the-store.ts";\n',
    "main/store/log/frame.ts": "",
    "main/files/not-of-the-store.ts": "",
  });
  const chain = ["main/store/log/frame.ts", "main/store/log/log.ts", "main/store/values/a.ts", "main/store/store.ts"];
  expect(house.storeFiles.longestChain).toEqual(chain);
  const rooms = ["main/store/log", "main/store/values", "main/store/store.ts"];
  expect(house.storeRooms).toEqual({ circles: [], longestChain: rooms });
  expect(problemsOf(house, { ...noFiles, storeFloors: 3 })).toContain(
    `main/store is too high, ${chain.join(" < ")}: 4, at most 3.`,
  );
});

test("the check names rooms of the store that import each other in a circle; a file beside them is a room of its own", async () => {
  const house = await houseWith({
    "main/store/store.ts": 'import "./mirror/mirror.ts";\n',
    "main/store/mirror/mirror.ts": 'import type { A } from "../log/a.ts";\nimport "../types.ts";\n',
    "main/store/log/a.ts": "export type A = string;\n",
    "main/store/log/b.ts": 'import "../mirror/c.ts";\n',
    "main/store/mirror/c.ts": "",
    "main/store/types.ts": "",
  });
  expect(house.circles).toEqual([]);
  expect(problemsOf(house, noFiles)).toEqual([
    "Rooms of main/store import each other in circles, types counted:\n  main/store/log, main/store/mirror",
  ]);
});

test("the check counts the files that know of a shared log, outside of its room", async () => {
  const house = await houseWith({
    "main/store/shared/log.ts": 'import "./other.ts";\nexport const isThere = (log: Log) => log.isAuthority;\n',
    "main/store/shared/other.ts": "",
    "main/store/store.ts": 'import "./shared/log.ts";\n',
    "main/daemon/home.ts": 'import type { A } from "../store/shared/other.ts";\n',
    "main/store/mirror/asks.ts": "const isLost = !log.isAuthority;\n",
    "main/store/log/file-log.ts": "readonly isAuthority = false;\n",
  });
  const files = ["main/daemon/home.ts", "main/store/mirror/asks.ts", "main/store/store.ts"];
  expect(house.sharedLogFiles).toEqual(files);
  expect(problemsOf(house, { ...noFiles, sharedLogFiles: 2 })).toEqual([
    `Too many files know of a shared log, ${files.join(", ")}: 3, at most 2.`,
  ]);
});

test("the check counts the members of set-up objects, with those that they extend; a command's options are a person's", async () => {
  const members = (...names: string[]) => names.map(name => `  readonly ${name}?: string;\n`).join("");
  const house = await houseWith({
    "main/a.ts": `export interface BaseOptions {\n${members("a", "b")}  /** c: of a call. */\n  c(of: {\n    d: 1;\n  }): void;\n}\n`,
    "main/store/b.ts": `interface FileOptions extends Partial<Omit<BaseOptions, "a">>, Other {\n${members("d")}}\n`,
    "main/store/c.ts": `interface StoreContext extends Pick<BaseOptions, "a" | "b"> {\n${members("b", "e")}}\n`,
    "main/store/d.ts": `interface Other {\n${members("f", "g")}}\n`,
    "main/cli/e.ts": `interface CommandOptions {\n${members("a", "b", "c", "d", "e", "f")}}\n`,
  });
  expect([...house.setUpObjects]).toEqual([
    ["BaseOptions", 3],
    ["FileOptions", 5],
    ["StoreContext", 3],
  ]);
  expect(problemsOf(house, { ...noFiles, setUpMembers: 4 })).toEqual([
    "FileOptions has too many members: 5, at most 4.",
  ]);
});

test("the check names what is too long or too many, and limits that nothing needs", async () => {
  const sideBySide = Array.from({ length: 13 }, (_, at): [string, string] => [`main/store/log/${at}.ts`, ""]);
  const commands = Array.from({ length: 13 }, (_, at): [string, string] => [`main/cli/commands/${at}.ts`, ""]);
  const house = await houseWith(
    {
      ...Object.fromEntries([...sideBySide, ...commands]),
      "shared/long.ts": lines(301),
      "shared/known.ts": lines(400),
      "shared/shorter.ts": lines(300),
      "test/one.test.ts": lines(7),
      "test/helpers/other.ts": lines(4),
      "docs/promises.md": lines(161),
    },
    231,
  );
  const files = Object.fromEntries(
    ["known", "shorter", "deleted"].map(name => [`shared/${name}.ts`, { lines: 400, reason: "a reason" }]),
  );
  expect(problemsOf(house, { ...limits, files, testLines: 10, promisesLines: 160, mutants: 230 })).toEqual([
    "main/store/log has too many files side by side: 13, at most 12.",
    "shared/long.ts has too many lines: 301, at most 300.",
    "shared/shorter.ts needs no limit of its own any more: delete its line in scripts/house/limits.ts.",
    "shared/deleted.ts needs no limit of its own any more: delete its line in scripts/house/limits.ts.",
    "The tests have too many lines: 11, at most 10.",
    "docs/promises.md has too many lines: 161, at most 160.",
    "There are too many mutants: 231, at most 230.",
  ]);
});
