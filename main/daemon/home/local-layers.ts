import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { type Config, countConfigFields, pathsIn } from "../../../shared/config.ts";
import { repositoryOfDocument } from "../../../shared/repository-id.ts";
import { shellQuoted } from "../../../shared/shell-quoted.ts";
import { syncFolder } from "../../files/durable-text-file.ts";
import { ignoreMissing, realFileSystem } from "../../files/file-system.ts";
import { type Home, homeAt } from "../../home/home.ts";
import { HomeError, privateFile } from "../../home/prepare-home.ts";
import { beforeFolder } from "../../home/restore.ts";
import { listSegmentNames } from "../../store/history/segment.ts";
import type { Store } from "../../store/store.ts";
import { systemClock } from "../../time/clock.ts";

/** The local layer of a repository, which a home on a shared log cannot have. */
export interface LocalLayer {
  readonly repo: string;
  /** Those that count. */
  readonly values: Config;
  /** Those that count, and others in its file. */
  readonly fields: readonly string[];
  readonly file: string;
  /** Whether nobody knows which values the file is to have. */
  readonly isBroken: boolean;
}

/** The local layers of a home, also those without values. Throws RepoconfError 1108 for one that cannot be read. */
export async function localLayersOf({ repositories }: Store): Promise<LocalLayer[]> {
  const layers: LocalLayer[] = [];
  for (const repo of [...repositories.ids()].sort()) {
    const { ownAbove } = await repositories.load(repo);
    for (const { document } of ownAbove) {
      const { content, home } = document.files;
      const values = document.own.stored ?? {};
      const fields = [...pathsIn(values), ...pathsIn(content.kind === "good" ? content.config : {})];
      const isBroken = content.kind === "broken" && home.status.kind !== "missing";
      layers.push({ repo, values, fields: [...new Set(fields)].sort(), file: home.path, isBroken });
    }
  }
  return layers;
}

function hasValues({ fields, isBroken }: LocalLayer): boolean {
  return fields.length > 0 || isBroken;
}

/** Throws HomeError, which names the fields of layers with values, without these, and how to go on; `retry`: how to leave them behind. */
export function assertNoValues(layers: readonly LocalLayer[], retry: string): void {
  const those = layers.filter(hasValues);
  if (those.length === 0) return;
  const lines = those.flatMap(({ repo, values, fields, file, isBroken }) => {
    const counting = pathsIn(values).sort();
    // What does not count may have no field, and then no command takes it.
    const others = fields.filter(field => !counting.includes(field));
    return [
      `${repo}: ${isBroken ? `${file}, which cannot be read` : fields.join(", ")}`,
      `  to see them:    repoconf export --repo ${repo} --local`,
      ...(isBroken ? ["  to remove them: correct the file first"] : []),
      ...(!isBroken && counting.length > 0
        ? [`  to remove them: repoconf unset --repo ${repo} --local ${counting.map(wordOf).join(" ")}`]
        : []),
      ...(others.length > 0 ? [`  not in use:     delete ${others.join(", ")} in ${file}`] : []),
    ];
  });
  throw new HomeError(
    `A home on a shared log has no local values yet, and this one has some. Nothing was copied.\n${lines.join("\n")}\nTo leave all of them behind, in a folder of the home: ${retry}`,
  );
}

function wordOf(field: string): string {
  return /^[\w.-]+$/.test(field) ? field : shellQuoted(field);
}

/** The values and histories of local layers, without the values themselves, to be put into a sentence. */
export function namesOf(layers: readonly LocalLayer[]): string {
  const values = layers
    .filter(hasValues)
    .map(({ repo, fields, file, isBroken }) => `${repo} (${isBroken ? file : fields.join(", ")})`);
  const histories = `the histories of the local values of ${layers.map(({ repo }) => repo).join(", ")}`;
  return values.length === 0 ? histories : `the local values of ${values.join(", ")}, and ${histories}`;
}

/** Before a copy: writes the values that count into a new folder of the home, each file as an export of that layer. */
export async function saveLocalValues(home: Home, layers: readonly LocalLayer[], before: string): Promise<void> {
  const folder = join(before, "values");
  for (const { repo, values } of layers) {
    if (countConfigFields(values) === 0) continue;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await privateFile(home, join(folder, `${repo}.json`)).write(`${JSON.stringify(values, null, 2)}\n`);
  }
}

/**
 * Moves the files and histories of all local layers, if there are any, into a folder where no daemon takes them for those of its
 * repositories. It may be called again after an interruption.
 */
export async function moveLocalLayers(home: Home, before = beforeFolder(home, "copy")): Promise<void> {
  const histories = [...(await listSegmentNames(home.journal))].filter(([id]) => id !== repositoryOfDocument(id));
  if (histories.length === 0) return;
  const aside = homeAt(before);
  for (const folder of [aside.local, aside.journal]) await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const [id, names] of histories) {
    const file = `${repositoryOfDocument(id)}.json`;
    // The history is last: as long as it is there, the rest is not forgotten.
    await rename(join(home.local, file), join(aside.local, file)).catch(ignoreMissing);
    for (const name of names.split("/")) await rename(join(home.journal, name), join(aside.journal, name));
  }
  const changed = [aside.local, aside.journal, before, home.local, home.journal, home.folder];
  for (const folder of changed) await syncFolder(folder, realFileSystem, systemClock);
}
