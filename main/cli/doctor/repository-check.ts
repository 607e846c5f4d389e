import { stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join } from "node:path";
import type { RepositoryEntry } from "../../../shared/protocol.ts";
import { missingFields } from "../../check/check-text.ts";
import { foreignStampOf } from "../../files/durable-text-file.ts";
import { realFileSystem } from "../../files/file-system.ts";
import { foreignDisks } from "../../files/foreign-disks.ts";
import type { JsonDocument } from "../../files/json-document.ts";
import { findOtherPointers, inTreeFileName } from "../../git/work-tree.ts";
import { WorkTreeFolder } from "../../git/work-tree-folder.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { type FileStamps, type RepositoryContent, RepositoryFiles } from "../../store/mirror/repository-files.ts";
import { homeMembers } from "../../store/mirror/repository-metadata.ts";
import type { IndexedRepository } from "../../store/state/repository-index.ts";
import type { RepositoryMetadata, StorePaths } from "../../store/types.ts";
import { interpretConfig, type Rules } from "../../store/values/interpret.ts";
import type { TrustedValues } from "../../store/values/trusted-values.ts";
import { systemClock } from "../../time/clock.ts";
import { goneWorktree } from "../connect/worktrees.ts";
import { type Finding, note, problem } from "./finding.ts";

const check = "repositories";

/** The result of checking one repository's files. */
export interface CheckedRepository {
  readonly id: string;
  readonly findings: readonly Finding[];
  /** Undefined if its file in the home cannot be read. */
  readonly head?: RepositoryMetadata;
  /** The stamps that an up-to-date index has for the files. */
  readonly stamps: FileStamps;
}

interface Known {
  readonly scopes: Scopes;
  readonly trust: TrustedValues;
  /** What a running daemon says. */
  readonly served: RepositoryEntry | undefined;
  readonly indexed: IndexedRepository | undefined;
}

/** Reads a repository's files as the daemon does at its start. Changes nothing. */
export async function checkRepository(id: string, paths: StorePaths, known: Known): Promise<CheckedRepository> {
  const { scopes, trust } = known;
  const { home, tree, content } = await readFiles(id, paths);
  const values = tree ?? home;
  const stamps = { home: home.stamp, tree: tree?.stamp };
  if (content.kind === "broken") {
    const { message, line, column } = content.problem;
    const broken = home.status.kind === "good" && message.startsWith(`${inTreeFileName}: `) ? values : home;
    const place = placeIn(id, broken, line !== undefined && column !== undefined ? { line, column } : undefined);
    // The finding has the file already.
    const reason = message.replace(/^\S+\.json: /, "");
    const fix = line === undefined ? "Replace it with a readable file" : "Fix it in an editor";
    const action = `${fix}, or remove the repository: repoconf repo remove ${id}`;
    const finding = problem(check, reason, action, place);
    return { id, findings: [finding], stamps, ...(content.metadata !== undefined && { head: content.metadata }) };
  }
  const { metadata, config } = content;
  const rules: Rules = {
    scopes,
    isTrusted: (path, value) =>
      metadata.inTree
        ? trust.has(metadata.base ?? id, scopes, path, value)
        : trust.hasInHome(metadata.base ?? id, scopes, path, value),
  };
  const { health } = interpretConfig(config, undefined, rules, {
    locate: paths =>
      values.status.kind === "good" ? values.status.json.locate(paths.map(path => ["config", ...path])) : [],
    // Only the daemon knows which of the values were set through it.
    acknowledged: config,
  });
  const findings = health.map(({ code, message, line, column }) => {
    const place = placeIn(id, values, line !== undefined && column !== undefined ? { line, column } : undefined);
    // Only the daemon knows which value is used instead.
    const reason = message.replace(/; using its (default|last valid value)\.$/, ".");
    if (code === 1114) return problem(check, reason, `Review it and trust it: repoconf trust --repo ${id}`, place);
    if (code === 1115) {
      const isOldName = reason.startsWith("The file uses the old name");
      const action = isOldName ? "setting the field once writes the new name." : "a new value has to have the form.";
      return note(check, reason, `None needed; ${action}`, place);
    }
    return code === 1011
      ? note(
          check,
          reason,
          "None needed if its scope comes back or another version knows it; otherwise remove it from the file.",
          place,
        )
      : problem(check, reason, "Fix it in an editor, or with repoconf set or unset.", place);
  });
  const missing = missingFields(config, scopes).map(({ message, field }) =>
    note(check, `${id}: ${message}`, `Set it, unless a local value does: repoconf set --repo ${id} ${field}=VALUE`),
  );
  return {
    id,
    head: metadata,
    stamps,
    findings: [
      ...missing,
      ...checkShape(id, home, tree),
      ...(await checkFolder(id, home, metadata)),
      ...(tree === undefined ? [] : await checkWorkTree(id, tree, home, metadata, known)),
      ...findings,
    ],
  };
}

interface ReadFiles {
  readonly home: JsonDocument;
  /** The file in the work tree, for an in-tree repository. */
  readonly tree?: JsonDocument;
  readonly content: RepositoryContent;
}

/**
 * Reads each file separately, the work tree's like a file in a home: `RepositoryFiles.refresh` cleans up in the work tree, so only the
 * process that holds the lock may call it.
 */
async function readFiles(id: string, paths: StorePaths): Promise<ReadFiles> {
  const system = { fileSystem: realFileSystem, clock: systemClock };
  const files = new RepositoryFiles(id, { paths, ...system });
  const { home } = files;
  await home.refresh();
  const { content } = files;
  if (content.kind === "broken" || !content.metadata.inTree || content.metadata.path === undefined)
    return { home, content };
  const { metadata } = content;
  const treeId = basename(inTreeFileName, ".json");
  const treeFiles = new RepositoryFiles(treeId, {
    paths: { ...paths, repositories: content.metadata.path },
    ...system,
  });
  const tree = treeFiles.home;
  await tree.refresh();
  // A branch without the file has no stored values.
  if (tree.status.kind === "missing") return { home, tree, content: { kind: "good", metadata, config: {} } };
  return { home, tree, content: { ...treeFiles.content, metadata } };
}

/** Finds missing and unknown members; the file is used nevertheless. */
function checkShape(id: string, home: JsonDocument, tree: JsonDocument | undefined): Finding[] {
  const findings: Finding[] = [];
  const report = (document: JsonDocument, member: string, message: string, action: string, make = note) =>
    findings.push(make(check, message, action, placeIn(id, document, locate(document, [member]))));
  const { name, path } = home.value;
  if (typeof name !== "string" || name === "") {
    report(home, "name", "it has no name, so its id is used", `Name it: repoconf repo rename ${id} NAME`);
  }
  if (path !== undefined && (typeof path !== "string" || !isAbsolute(path))) {
    report(home, "path", `"path" is not an absolute path`, "Write the folder's full path.", problem);
  }
  for (const member of ["inTree", "favourite"]) {
    const value = home.value[member];
    if (value === undefined || typeof value === "boolean") continue;
    const message = `"${member}" is neither true nor false; it is treated as false`;
    report(home, member, message, "Fix it in an editor.", problem);
  }
  for (const member of Object.keys(home.value)) {
    if (!homeMembers.has(member)) report(home, member, `"${member}" is not used`, "Remove it, or correct its name.");
    if (member !== "config" || tree === undefined) continue;
    report(home, member, `these values are not used, because those in ${tree.path} are`, "Remove them.");
  }
  for (const member of Object.keys(tree?.value ?? {})) {
    if (tree === undefined || ["config", "$schema"].includes(member)) continue;
    report(tree, member, `"${member}" is not used`, "Remove it, or correct its name.");
  }
  return findings;
}

async function checkFolder(
  id: string,
  home: JsonDocument,
  { path, inTree, linked }: RepositoryMetadata,
): Promise<Finding[]> {
  if (path === undefined || !isAbsolute(path)) return [];
  const stats = await foreignDisks.ask(path, () => stat(path).catch(() => undefined)).catch((error: Error) => error);
  // The file's own problem says so.
  if (stats instanceof Error) return [];
  if (stats?.isDirectory()) return inTree ? checkOtherHomes(id, home, path) : checkUnusedTree(id, home, path);
  const place = placeIn(id, home, locate(home, ["path"]));
  const action = linked
    ? goneWorktree
    : `If it moved: repoconf repo move ${id} FOLDER, or remove the repository: repoconf repo remove ${id}`;
  const message = `the folder ${path} does not exist`;
  return [
    inTree
      ? problem(check, `${message}, so its values cannot be read`, action, place)
      : note(check, message, action, place),
  ];
}

/** Whether the folder is the very one. Where the in-tree file is missing, there are no values then; else they cannot be read. */
async function checkWorkTree(
  id: string,
  { status }: JsonDocument,
  home: JsonDocument,
  { path, linked }: RepositoryMetadata,
  { served, indexed }: Known,
): Promise<Finding[]> {
  const identity = path === undefined ? undefined : await realFileSystem.identityOf(path);
  // Told as a folder that does not exist.
  if (path === undefined || identity === undefined) return [];
  const recorded = indexed?.path === path ? indexed.folder : undefined;
  const about = { id, path, pointer: home.path, linked: linked?.name };
  const folder = new WorkTreeFolder({ ...about, fileSystem: realFileSystem, recorded, isChosen: false });
  const message =
    served === undefined
      ? await folder.findProblem(status.kind !== "missing")
      : served.health.find(({ noFolder, layer }) => noFolder && layer === undefined)?.message;
  const action = `To give it up: repoconf repo remove ${id}`;
  return message === undefined ? [] : [problem(check, message, action, placeIn(id, home, locate(home, ["path"])))];
}

/** A clone that was added before its file came, or with --in-home: its programs may run with the defaults. */
async function checkUnusedTree(id: string, home: JsonDocument, path: string): Promise<Finding[]> {
  const file = join(path, inTreeFileName);
  if ((await foreignStampOf(file)) === undefined) return [];
  const message = `${file} is not used, because the values of this repository are in the home`;
  const action = "None needed if that is intended. To see its values: repoconf get --offline FIELD, in that folder";
  return [note(check, message, action, placeIn(id, home, locate(home, ["path"])))];
}

/** Two homes must not manage the same file: each treats the other's writes as hand edits, so simultaneous sets can undo each other. */
async function checkOtherHomes(id: string, home: JsonDocument, path: string): Promise<Finding[]> {
  const others = await findOtherPointers(path, home.path);
  return others.map(other => {
    const otherHome = dirname(dirname(other));
    const message = `the home ${otherHome} manages ${join(path, inTreeFileName)} too; simultaneous changes from both can overwrite each other`;
    const action = `Remove it from one of them: repoconf repo remove ${id}, here or with --home ${otherHome}`;
    return problem(check, message, action, placeIn(id, home, locate(home, ["path"])));
  });
}

function locate(document: JsonDocument, path: readonly string[]) {
  return document.status.kind === "good" ? document.status.json.locate([path])[0] : undefined;
}

function placeIn(
  id: string,
  document: JsonDocument,
  place: { readonly line: number; readonly column: number } | undefined,
) {
  return { repo: id, file: document.path, ...place };
}
