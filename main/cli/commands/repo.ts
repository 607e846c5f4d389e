import { stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { type Command, Option } from "commander";
import { type RepoconfClient, RequestError } from "../../../shared/client/client.ts";
import { problemsIn } from "../../../shared/health.ts";
import type { OperationResults, RepositoryEntry } from "../../../shared/protocol.ts";
import { shellQuoted } from "../../../shared/shell-quoted.ts";
import { visible } from "../../../shared/visible.ts";
import { findInTreeFile } from "../../check/work-tree-file.ts";
import { missingFolder } from "../../files/describe-cause.ts";
import { realFolder } from "../../files/real-folder.ts";
import { findWorkTree } from "../../git/git.ts";
import type { Home } from "../../home/home.ts";
import { addJsonOption, addSessionOptions, type OutputOptions, type SessionOptions } from "../command-options.ts";
import { adviceOn, missingFolders, tellMoved } from "../connect/missing-folders.ts";
import { chooseRepository } from "../connect/repositories.ts";
import { isWorktreeOf, underBases } from "../connect/worktrees.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { describeError } from "../output/messages.ts";
import {
  confirmOrThrow,
  isTerminal,
  print,
  printJson,
  printNote,
  printTable,
  showProgress,
} from "../output/terminal.ts";
import type { mergeRepository } from "./merge-repository.ts";

interface AddOptions extends SessionOptions, OutputOptions {
  readonly name?: string;
  readonly id?: string;
  readonly inTree?: boolean;
  readonly inHome?: boolean;
  readonly scan?: string;
  readonly yes?: boolean;
}

/** `repoconf repo add|list|rename|move|merge|remove`. */
export function addRepoCommand(program: Command): void {
  const repo = program.command("repo").description("manage repositories");
  addJsonOption(addSessionOptions(repo.command("add")))
    .argument("[folder]", "the work tree (default: the git work tree that contains the current folder)")
    .summary("add a repository")
    .description(
      "add a repository\n\nIf the folder has a .repoconf.json, as in a clone whose values are committed, these are the repository's values, and changes are written there. Otherwise the values are kept in the home.",
    )
    .option("--name <name>", "its name (default: the folder's name)")
    .option("--id <id>", "its id (default: a new one)")
    .option("--in-tree", "keep the values in .repoconf.json in the work tree (default: if it has one)")
    .addOption(
      new Option("--in-home", "keep the values in the home, even if the work tree has a .repoconf.json").conflicts(
        "inTree",
      ),
    )
    .option("--scan <dir>", "find the git work trees below this folder and add them all, after asking")
    .option("--yes", "do not ask for confirmation")
    .action(add);
  addJsonOption(addSessionOptions(repo.command("list")))
    .description("list the repositories")
    .action(list);
  addJsonOption(addSessionOptions(repo.command("rename")))
    .argument("<repository>", "id or name")
    .argument("<name>", "the new name")
    .description("rename a repository")
    .action(rename);
  addJsonOption(addSessionOptions(repo.command("move")))
    .argument("<repository>", "id or name")
    .argument("[folder]", "its new folder (default: the git work tree that contains the current folder)")
    .description("record that a repository's folder has moved")
    .action(move);
  addJsonOption(addSessionOptions(repo.command("merge")))
    .argument("<repository>", "id or name of the one that is removed")
    .argument("<into>", "id or name of the one that stays")
    .summary("make two repositories one, such as clones that were added twice")
    .description(
      "make two repositories one, such as clones that were added twice\n\nThe second one gets the values that it lacks, and the first one's folder if it has none; where both have a value, it keeps its own. Shared and local values are merged separately. Then the first one is removed.",
    )
    .option("--yes", "do not ask for confirmation")
    .action(merge);
  addJsonOption(addSessionOptions(repo.command("remove")))
    .argument("<repository>", "id or name")
    .description("remove a repository; its file is moved to removed/ in the home")
    .option("--yes", "do not ask for confirmation")
    .action(remove);
}

async function add(folder: string | undefined, options: AddOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  await withSession(options, async ({ client, home }) => {
    if (options.scan !== undefined) return addBelow(client, options.scan, options);
    const path = folder === undefined ? await workTreeToAdd() : await existingFolder(folder);
    const known = (await client.repositories()).find(entry => entry.path === path);
    if (known !== undefined) throw new CommandError(`${path} is already the repository ${known.name} (${known.id}).`);
    const entry = await addOne(client, path, options);
    if (options.json) return printJson(entry);
    reportAdded(entry, options);
    await reportEnclosingFile(entry, path);
    await tellMoved(client, entry);
    await askForTrust(client, entry);
    await reportScopes(entry, home);
  });
}

/** Reports scopes in the work tree, which are not used until the user accepts them. */
async function reportScopes({ id, path }: RepositoryEntry, home: Home): Promise<void> {
  const { readOfferedScopes } = await import("../../check/offered-scopes.ts");
  const names = path === undefined ? [] : (await readOfferedScopes(path, home)).offered.map(({ scope }) => scope);
  if (names.length > 0)
    print(
      `It contains scopes that your home does not have: ${names.join(", ")}. Review them: repoconf trust --repo ${id}`,
    );
}

/** The current work tree. Throws CommandError if a folder between its root and this one has values of its own, which would be ignored. */
async function workTreeToAdd(): Promise<string> {
  const root = await currentWorkTree("add");
  const { folder } = await findInTreeFile(process.cwd());
  if (folder === root) return root;
  const add = (path: string) => `repoconf repo add ${shellQuoted(path)}`;
  throw new CommandError(
    `${folder} has a .repoconf.json of its own, in the git work tree ${root}. Name the folder to add:\n${add(folder)}\n${add(root)}`,
  );
}

async function currentWorkTree(command: string): Promise<string> {
  const workTree = await findWorkTree(process.cwd());
  if (workTree !== undefined) return workTree.folder;
  // It may be one that cannot be read.
  await existingFolder(process.cwd());
  throw new CommandError(`This folder is not in a git work tree. Name the folder: repoconf repo ${command} FOLDER`);
}

/** The folder's real path, without links and spelled as on the disk. Throws CommandError if it is not an existing folder. */
async function existingFolder(named: string): Promise<string> {
  // Resolved, an empty path is the current folder.
  if (named.trim() === "")
    throw new CommandError("The folder's name is empty: perhaps a variable is not set.", exitCodes.usage);
  const path = resolve(named);
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => error);
  if (!(found instanceof Error) && found.isDirectory()) return realFolder(path);
  const why = !(found instanceof Error)
    ? `${path} is a file, not a folder.`
    : found.code === "ENOENT"
      ? missingFolder(path)
      : `${path} cannot be read: ${found.message}.`;
  throw new CommandError(why);
}

type AddedEntry = OperationResults["repo/add"];

function reportAdded({ name, id, path, recognized, inTree, health }: AddedEntry, options: AddOptions): void {
  print(
    recognized
      ? `${path} is a clone of ${name} (${id}), which the shared log already has. It is now that repository's folder on this machine.`
      : `Added ${name} (${id}): ${path}`,
  );
  for (const { code, message } of health) if (code === 1108) printNote(message);
  if (!inTree) return;
  if (!options.inTree) print("Its values are in its .repoconf.json, where changes are written too.");
  const broken = health.find(({ code }) => code === 1106);
  if (broken === undefined) return;
  const { message, line, column } = broken;
  const at = line === undefined ? "" : ` (line ${line}, column ${column})`;
  printNote(`It has no values until that file is fixed: ${message}${at}`);
}

/** A folder below a work tree's .repoconf.json is a repository of its own, so it does not have the values of that file. */
async function reportEnclosingFile({ id, inTree }: AddedEntry, path: string): Promise<void> {
  if (inTree) return;
  const enclosing = await findInTreeFile(path);
  const isThere = await stat(enclosing.path)
    .then(stats => stats.isFile())
    .catch(() => false);
  if (enclosing.folder === path || !isThere) return;
  const instead = `repoconf repo remove ${id} && repoconf repo add ${shellQuoted(enclosing.folder)}`;
  printNote(`It does not use the values in ${enclosing.path}. To use them instead: ${instead}`);
}

function addOne(client: RepoconfClient, path: string, { name, id, inTree, inHome }: AddOptions): Promise<AddedEntry> {
  return client.run("repo/add", {
    name: name ?? (basename(path) || path),
    path,
    ...(id !== undefined && { id }),
    ...((inTree || inHome) && { inTree: inTree === true }),
  });
}

async function addBelow(client: RepoconfClient, folder: string, options: AddOptions): Promise<void> {
  const { findWorkTreesBelow } = await import("../../git/git.ts");
  const known = new Set((await client.repositories()).map(entry => entry.path));
  const found: string[] = [];
  const root = await existingFolder(folder);
  for await (const path of findWorkTreesBelow(root, count =>
    showProgress(`${count} folders scanned, ${found.length} found`),
  )) {
    if (!known.has(path)) found.push(path);
  }
  showProgress("");
  for (const path of [...found])
    if (await isWorktreeOf(path, [...known, ...found])) found.splice(found.indexOf(path), 1);
  if (found.length === 0) return printNote(`Found no work trees below ${root} that are not already added.`);
  printNote(...found.map(path => `  ${path}`));
  if (!options.yes) await confirmOrThrow(`Add these ${found.length} repositories?`, "Nothing was added.");
  const entries: AddedEntry[] = [];
  const refused: string[] = [];
  for (const path of found) {
    try {
      entries.push(await addOne(client, path, { ...options, name: basename(path) }));
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      refused.push(`${path}: ${describeError(error)}`);
    }
  }
  if (options.json) printJson(entries);
  const told = options.json ? [] : entries;
  for (const entry of told) reportAdded(entry, options);
  for (const entry of told) {
    await tellMoved(client, entry);
    await askForTrust(client, entry);
  }
  if (refused.length > 0) throw new CommandError(["Not added:", ...refused].map(visible).join("\n"));
}

/** Shows untrusted values and asks for trust. Commands in the folder's file are not active until they are trusted. */
async function askForTrust(client: RepoconfClient, { id, health }: RepositoryEntry): Promise<void> {
  if (!health.some(({ code }) => code === 1114)) return;
  const { showAndAsk, showMasked } = await import("./trust.ts");
  print("Its file contains commands or environment variables:");
  // A log or a script gets masked values, as in lists; a person is asked on a terminal.
  await (isTerminal() ? showAndAsk : showMasked)(client, await client.run("trust/list", { repo: id }));
}

async function list(options: SessionOptions & OutputOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  await withSession(options, async ({ client }) => {
    const entries = underBases(await client.repositories());
    if (options.json) return printJson(entries);
    if (entries.length === 0) printNote("There are no repositories yet. Add one: repoconf repo add");
    const missing = await missingFolders(entries);
    const rows = entries.map(({ id, name, path, modified, health }) => {
      const problems = problemsIn(health).length;
      const isMissing = missing.has(path ?? "");
      const known = problems === 0 ? (isMissing ? "" : "ok") : `${problems} ${problems === 1 ? "problem" : "problems"}`;
      const status = [known, isMissing ? "folder missing" : ""].filter(Boolean).join(", ");
      const waits = health.some(({ code }) => code === 1114) ? ", needs trust" : "";
      return [id, name, `${modified}`, `${status}${waits}`, path ?? ""];
    });
    printTable(["ID", "NAME", "STORED", "HEALTH", "FOLDER"], rows);
    if (!isTerminal()) return;
    printNote(...adviceOn(entries.filter(({ path = "" }) => missing.has(path))));
    const isUntrusted = entries.some(({ health }) => health.some(({ code }) => code === 1114));
    if (entries.some(({ health }) => problemsIn(health).length > 0))
      printNote(
        `For details and fixes: repoconf doctor${isUntrusted ? "; to review what needs trust: repoconf trust" : ""}`,
      );
  });
}

async function rename(named: string, name: string, options: SessionOptions & OutputOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  await withSession(options, async ({ client }) => {
    const { id } = await chooseRepository(client, named);
    const entry = await client.run("repo/update", { repo: id, name });
    if (options.json) printJson(entry);
    else print(`Renamed ${id} to ${entry.name}.`);
  });
}

async function move(named: string, folder: string | undefined, options: SessionOptions & OutputOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  await withSession(options, async ({ client }) => {
    const { id } = await chooseRepository(client, named);
    const path = folder === undefined ? await currentWorkTree(`move ${id}`) : await existingFolder(folder);
    const entry = await client.run("repo/update", { repo: id, path });
    if (options.json) printJson(entry);
    else print(`${entry.name} (${id}) is now in ${path}.`);
  });
}

const merge = async (...args: Parameters<typeof mergeRepository>) =>
  (await import("./merge-repository.ts")).mergeRepository(...args);

async function remove(
  named: string,
  options: SessionOptions & OutputOptions & { readonly yes?: boolean },
): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  await withSession(options, async ({ client, home }) => {
    const { id, name, base } = await chooseRepository(client, named);
    if (!options.yes) await confirmOrThrow(`Remove ${name} (${id})?`, "Nothing was removed.");
    const removed = await client.run("repo/remove", { repo: id });
    if (options.json) return printJson(removed);
    print(`Removed ${name}.${removed.movedTo === undefined ? "" : ` Its file was moved to ${removed.movedTo}`}`);
    if (removed.movedTo === undefined || base !== undefined) return;
    print(`To have it again, with its history, move that file to ${join(home.repositories, `${id}.json`)}`);
  });
}
