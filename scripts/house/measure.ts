import { globSync, readFileSync } from "node:fs";
import { join, posix, sep } from "node:path";
import { importsOf, importsOfRooms, type Tower, towerOf } from "./imports.ts";
import { setUpObjectsOf } from "./set-up-objects.ts";

export interface House {
  /** The lines of each source file, by path. */
  readonly sources: ReadonlyMap<string, number>;
  /** The lines of each file in test/, by path. */
  readonly tests: ReadonlyMap<string, number>;
  /** Of all source files. */
  readonly circles: Tower["circles"];
  readonly storeFiles: Tower;
  readonly storeRooms: Tower;
  /** The files that know of a shared log: they import its room, or ask a log whether it is the authority. */
  readonly sharedLogFiles: readonly string[];
  /** The members of what is passed to make or call something, by the name of its interface; without the options of commands, which people pass. */
  readonly setUpObjects: ReadonlyMap<string, number>;
  /** The lines of docs/promises.md. */
  readonly promises: number;
  readonly mutants: number;
}

/** Measures a project in this folder, whose mutants the caller has counted. */
export function measureHouse(project: string, mutants: number): House {
  const texts = readAll(project, "{main,shared,renderer,scripts}/**/*.{ts,tsx}");
  const imports = importsOf(texts);
  const store = importsOf(new Map([...texts].filter(([file]) => file.startsWith("main/store/"))));
  const isShared = (file: string) => file.startsWith("main/store/shared/");
  return {
    sources: linesOf(texts),
    tests: linesOf(readAll(project, "test/**/*.{ts,tsx}")),
    circles: towerOf(imports).circles,
    storeFiles: towerOf(store),
    storeRooms: towerOf(importsOfRooms(store, "main/store")),
    sharedLogFiles: [...texts.keys()].filter(
      file =>
        /^main\/(?!store\/shared\/)/.test(file) &&
        ([...(imports.get(file) ?? [])].some(isShared) || texts.get(file)?.includes(".isAuthority")),
    ),
    setUpObjects: setUpObjectsOf([...texts].filter(([file]) => /^main\/(?!cli\/)/.test(file)).map(([, text]) => text)),
    promises: sum(linesOf(readAll(project, "docs/promises.md")).values()),
    mutants,
  };
}

export function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((total, one) => total + one, 0);
}

/** How many of these files stand side by side in each folder. */
export function sideBySide(files: Iterable<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const file of files) counts.set(posix.dirname(file), (counts.get(posix.dirname(file)) ?? 0) + 1);
  return counts;
}

function readAll(project: string, pattern: string): ReadonlyMap<string, string> {
  const found = globSync(pattern, { cwd: project, exclude: ["**/node_modules"] });
  const paths = found.map(path => path.replaceAll(sep, "/"));
  return new Map(paths.sort().map(path => [path, readFileSync(join(project, path), "utf8")]));
}

function linesOf(texts: ReadonlyMap<string, string>): ReadonlyMap<string, number> {
  return new Map([...texts].map(([path, text]) => [path, text.split("\n").length - 1]));
}
