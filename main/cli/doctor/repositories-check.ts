import { readdir } from "node:fs/promises";
import { join } from "node:path";
import pLimit from "p-limit";
import type { RepositoryEntry } from "../../../shared/protocol.ts";
import { isRepositoryId } from "../../../shared/repository-id.ts";
import { realFileSystem, systemErrorCode } from "../../files/file-system.ts";
import type { Home } from "../../home/home.ts";
import { privateFile } from "../../home/prepare-home.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { sameStamps } from "../../store/mirror/repository-files.ts";
import { RepositoryIndex } from "../../store/state/repository-index.ts";
import type { RepositoryMetadata } from "../../store/types.ts";
import { TrustedValues } from "../../store/values/trusted-values.ts";
import { systemClock } from "../../time/clock.ts";
import { counted, type Finding, good, note, problem } from "./finding.ts";
import { type CheckedRepository, checkRepository } from "./repository-check.ts";

const check = "repositories";
const ending = ".json";
/** Files read concurrently: enough to keep the disk busy, too few to run out of file handles. */
const concurrency = 32;

interface Options {
  readonly scopes: Scopes;
  /** What a running daemon reports, which is more current than the index; undefined without a daemon. */
  readonly served: readonly RepositoryEntry[] | undefined;
  onProgress(done: number, all: number): void;
}

interface CheckedRepositories {
  readonly findings: Finding[];
  /** By id; without those whose file in the home cannot be read. */
  readonly heads: ReadonlyMap<string, RepositoryMetadata>;
  readonly treeFolders: number;
}

/** Checks each repository, duplicates and missing files, and the index. */
export async function checkRepositories(home: Home, options: Options): Promise<CheckedRepositories> {
  const names = (await namesIn(home.repositories)).filter(name => name.endsWith(ending));
  const [ids, unknownFiles] = [[] as string[], [] as Finding[]];
  for (const name of names) {
    const id = name.slice(0, -ending.length);
    if (isRepositoryId(id)) ids.push(id);
    else unknownFiles.push(describeUnknownFile(join(home.repositories, name)));
  }
  const noteOfTrust = (message: string, file: unknown) => {
    const action = "None needed: the daemon creates a new one and asks again about untrusted values.";
    unknownFiles.push(note(check, message, action, { file: typeof file === "string" ? file : home.trustFile }));
  };
  const files = { trusted: privateFile(home, home.trustFile), plain: privateFile(home, home.plainValuesFile) };
  const trust = await TrustedValues.open(files, noteOfTrust, noteOfTrust);
  const { scopes, served } = options;
  const index = await new RepositoryIndex(home.indexFile, home.temporary, realFileSystem, systemClock).read();
  const indexed = index.data.repositories;
  const byDaemon = new Map(served?.map(entry => [entry.id, entry]));
  let done = 0;
  const limit = pLimit(concurrency);
  const checked = await Promise.all(
    ids.map(id =>
      limit(async () => {
        const known = { served: byDaemon.get(id), indexed: indexed.get(id) };
        const result = await checkRepository(id, home, { scopes, trust, ...known });
        done += 1;
        options.onProgress(done, ids.length);
        return result;
      }),
    ),
  );
  const running = served !== undefined;
  const finding = checkIndex(home, checked, index, running);
  const missing = await findMissing(home, running ? byDaemon.keys() : indexed.ids(), new Set(ids), running);
  const findings = [
    ...unknownFiles,
    ...checked.flatMap(one => one.findings),
    ...findDuplicates(home, checked),
    ...missing,
  ];
  const allValid = good(check, `${counted(ids.length, "file")}, all valid`);
  return {
    findings: [...(findings.length === 0 ? [allValid] : findings), finding],
    heads: new Map(checked.flatMap(({ id, head }) => (head === undefined ? [] : [[id, head]]))),
    treeFolders: new Set(checked.filter(({ head }) => head?.inTree).map(({ head }) => head?.path)).size,
  };
}

function describeUnknownFile(file: string): Finding {
  const action = "If it is a repository's file, rename it using only letters, digits, - and _; otherwise move it away.";
  return note(check, "this is not a valid repository file name, so the file is not used", action, { file });
}

/** Finds repositories with the same name, which commands cannot distinguish, and in-tree repositories with the same file. */
function findDuplicates(home: Home, checked: readonly CheckedRepository[]): Finding[] {
  const findings: Finding[] = [];
  const clones = checked.filter(({ head }) => head?.remote !== undefined);
  for (const [remote, duplicates] of Map.groupBy(clones, ({ head }) => head?.remote)) {
    const [first, second] = duplicates;
    if (first === undefined || second === undefined) continue;
    const message = `${duplicates.length} are clones of ${remote}: ${duplicates.map(({ id }) => id).join(", ")}`;
    const action = `None needed if that is intended. To make them one: repoconf repo merge ${second.id} ${first.id}`;
    findings.push(note(check, message, action));
  }
  const byName = Map.groupBy(checked, ({ id, head }) => head?.name ?? id);
  for (const [name, duplicates] of byName) {
    const [first, second] = duplicates;
    if (first === undefined || second === undefined) continue;
    // What is said of clones is enough.
    if (first.head?.remote !== undefined && duplicates.every(({ head }) => head?.remote === first.head?.remote))
      continue;
    const message = `${duplicates.length} are called "${name}": ${duplicates.map(({ id }) => id).join(", ")}`;
    findings.push(note(check, message, `Refer to them by id, or rename one: repoconf repo rename ${second.id} NAME`));
  }
  const inTree = checked.filter(({ head }) => head?.inTree);
  for (const [path, duplicates] of Map.groupBy(inTree, ({ head }) => head?.path)) {
    const [first, second] = duplicates;
    if (first === undefined || second === undefined) continue;
    const message = `the in-tree file of ${path} belongs to ${duplicates.map(({ id }) => id).join(" and ")}`;
    const place = { repo: second.id, file: join(home.repositories, `${second.id}${ending}`) };
    findings.push(problem(check, message, `Remove one of them: repoconf repo remove ${second.id}`, place));
  }
  return findings;
}

/** Checks the index. It is a cache, so the next start fixes every problem. */
function checkIndex(
  home: Home,
  checked: readonly CheckedRepository[],
  { data, damaged }: Awaited<ReturnType<RepositoryIndex["read"]>>,
  running: boolean,
): Finding {
  const place = { file: home.indexFile };
  if (damaged) return note("index", "it is damaged", "None needed: the daemon rebuilds it at its next start.", place);
  // A running daemon writes the index some seconds after a change.
  if (running) return good("index", "kept by the running daemon");
  const differing = checked.filter(({ id, stamps }) => {
    const known = data.repositories.get(id);
    return known === undefined || !sameStamps(known.stamps, stamps);
  });
  if (differing.length === 0) return good("index", "agrees with the files");
  const message = `${counted(differing.length, "file differs", "files differ")} from the index`;
  return note("index", message, "None needed: the daemon reads them at its next start.", place);
}

/** Finds known repositories whose file is missing. */
async function findMissing(home: Home, known: Iterable<string>, there: ReadonlySet<string>, running: boolean) {
  const missing = [...known].filter(id => !there.has(id));
  const removed = missing.length === 0 ? [] : (await namesIn(home.removed)).sort();
  return missing.map(id => {
    const aside = removed.findLast(name => name.startsWith(`${id}.`) && !name.startsWith(`${id}.broken.`));
    const ways = [
      ...(running ? [`repoconf doctor --rewrite ${id} rewrites it from the values in the running daemon`] : []),
      ...(aside === undefined
        ? []
        : [`${join(home.removed, aside)} is a copy from when the repository was removed earlier`]),
      "a backup may contain it",
    ];
    const action = `To get it back: ${ways.join("; ")}. To give it up: repoconf repo remove ${id}`;
    return problem(check, "the file is missing", action, { repo: id, file: join(home.repositories, `${id}${ending}`) });
  });
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return [];
    throw error;
  }
}
