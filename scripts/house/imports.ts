import { posix } from "node:path";

/** What each file, or each folder, imports. */
export type Imports = ReadonlyMap<string, ReadonlySet<string>>;

/** Imports of values and types, re-exports, `import()`, and types like `import("./file.ts").Name`; the formatter sets the quotes. */
const specifier = /\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g;

/** What each of these files imports of the others. */
export function importsOf(texts: ReadonlyMap<string, string>): Imports {
  return new Map(
    [...texts].map(([file, text]) => {
      const paths = [...text.matchAll(specifier)].map(([, path = ""]) => posix.join(posix.dirname(file), path));
      return [file, new Set(paths.filter(path => texts.has(path)))];
    }),
  );
}

/** What each room in a folder imports of the others, by the imports of its files. A file directly in the folder is a room of its own. */
export function importsOfRooms(imports: Imports, folder: string): Imports {
  const roomOf = (file: string) => (posix.dirname(file) === folder ? file : posix.dirname(file));
  const rooms = new Map<string, Set<string>>();
  for (const [file, imported] of imports) {
    const room = roomOf(file);
    const others = rooms.get(room) ?? new Set();
    for (const other of imported) if (roomOf(other) !== room) others.add(roomOf(other));
    rooms.set(room, others);
  }
  return rooms;
}

export interface Tower {
  /** Those that import each other, directly or through others. */
  readonly circles: readonly (readonly string[])[];
  /** The most that stand on one another by imports, from the lowest one up; a circle counts as one. */
  readonly longestChain: readonly string[];
}

export function towerOf(imports: Imports): Tower {
  const below = new Map([...imports.keys()].map(name => [name, reachedFrom(name, imports)]));
  const isBelow = (name: string, other: string) => below.get(other)?.has(name) === true;
  const circles = new Map<string, readonly string[]>();
  const chains = new Map<string, readonly string[]>();
  const longest = (some: readonly (readonly string[])[]) =>
    some.reduce((one, other) => (other.length > one.length ? other : one), []);
  const chainTo = (name: string): readonly string[] => {
    let chain = chains.get(name);
    if (chain === undefined) {
      const lower = [...(below.get(name) ?? [])].filter(other => !isBelow(name, other));
      chain = [...longest(lower.map(chainTo)), name];
      chains.set(name, chain);
    }
    return chain;
  };
  for (const [name, lower] of below) {
    const circle = [...lower].filter(other => isBelow(name, other)).sort();
    if (circle[0] !== undefined) circles.set(circle[0], circle);
  }
  return { circles: [...circles.values()], longestChain: longest([...below.keys()].map(chainTo)) };
}

function reachedFrom(name: string, imports: Imports): ReadonlySet<string> {
  const reached = new Set<string>();
  const follow = (one: string) => {
    for (const next of imports.get(one) ?? []) {
      if (reached.has(next)) continue;
      reached.add(next);
      follow(next);
    }
  };
  follow(name);
  return reached;
}
