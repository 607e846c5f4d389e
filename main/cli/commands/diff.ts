import { type Command, Option } from "commander";
import { type RepoconfClient, RequestError } from "../../../shared/client/client.ts";
import { type Config, configEntries, configValue } from "../../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import {
  addJsonOption,
  addRepositoryOption,
  addSessionOptions,
  type OutputOptions,
  parseRevision,
  type RepositoryOptions,
  type SessionOptions,
} from "../command-options.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";

interface DiffOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly with?: string;
  readonly exitCode?: boolean;
  readonly reveal?: boolean;
}

/** The values of one repository at one revision. */
interface Side {
  readonly repo: string;
  readonly name: string;
  readonly revision: number;
  readonly effective: Config;
  readonly stored: Config;
  /** Fields whose values the key may not see. */
  readonly masked: readonly string[];
}

interface SideValue {
  readonly value: JsonValue;
  /** False for a default. */
  readonly stored: boolean;
}

interface Difference {
  readonly field: string;
  /** Null if the value was erased. */
  readonly from: SideValue | null;
  readonly to: SideValue | null;
}

/** `repoconf diff`: compares two revisions of a repository, or two repositories. */
export function addDiffCommand(program: Command): void {
  addJsonOption(addRepositoryOption(addSessionOptions(program.command("diff"))))
    .argument("[revision]", "the revision to compare from", parseRevision)
    .argument("[other-revision]", "the revision to compare to (default: the newest)", parseRevision)
    .summary("compare two revisions of a repository, or two repositories")
    .description(
      "compare two revisions of a repository, or two repositories\n\n  repoconf diff 12 15          revision 12 with revision 15\n  repoconf diff 12             revision 12 with the current values\n  repoconf diff --with OTHER   this repository with another\n\nIt compares effective values, so a stored value and an equal default do not differ.",
    )
    .addOption(new Option("--with <repository>", "compare with this repository, by id or name"))
    .option("--exit-code", "exit with code 1 if there is a difference")
    .option("--reveal", "show masked values")
    .action(diff);
}

async function diff(one: number | undefined, other: number | undefined, options: DiffOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const { chooseRepository } = await import("../connect/repositories.ts");
  if ((one === undefined) === (options.with === undefined)) {
    const message =
      "Specify what to compare: repoconf diff REVISION [REVISION], or repoconf diff --with OTHER, but not both.";
    throw new CommandError(message, exitCodes.usage);
  }
  await withSession(options, async ({ client }) => {
    const repository = await chooseRepository(client, options.repo);
    const second = options.with === undefined ? repository : await chooseRepository(client, options.with);
    const from = await readSide(client, repository, one);
    const to = await readSide(client, second, other);
    const differences = findDifferences(from, to);
    if (options.json) await printDifferencesJson(client, from, to, differences, options);
    else await printDifferences(client, from, to, differences, options);
    if (options.exitCode && differences.length > 0) process.exitCode = exitCodes.failed;
  });
}

/** Reads a revision, by default the newest one. Throws RequestError. */
async function readSide(
  client: RepoconfClient,
  { id, name }: { readonly id: string; readonly name: string },
  wanted: number | undefined,
): Promise<Side> {
  const effective = await listAt(client, id, wanted);
  // Reads the same revision even if there is a newer one by now. Fails if that revision is no longer kept.
  const stored = await listAt(client, id, effective.revision, true);
  return {
    repo: id,
    name,
    revision: effective.revision,
    effective: effective.config,
    stored: stored.config,
    masked: effective.masked,
  };
}

async function listAt(client: RepoconfClient, repo: string, revision: number | undefined, stored = false) {
  const reply = await client.request("config/list", {
    repo,
    ...(revision !== undefined && { revision }),
    ...(stored && { stored }),
  });
  const [first] = reply.errors;
  if (first !== undefined) throw new RequestError(first, reply);
  return { config: reply.result, revision: reply.revision ?? revision ?? 0, masked: reply.masked ?? [] };
}

function findDifferences(from: Side, to: Side): Difference[] {
  const paths = new Map<string, { readonly scope: string; readonly field: string }>();
  for (const side of [from, to]) {
    for (const { scope, field } of configEntries(side.effective)) {
      paths.set(joinConfigPath(scope, field), { scope, field });
    }
  }
  return [...paths].flatMap(([path, { scope, field }]) => {
    const [before, after] = [sideValue(from, scope, field), sideValue(to, scope, field)];
    // Between two repositories, null means that the key may not read the field.
    if ((before === null || after === null) && from.repo !== to.repo) return [];
    if (from.masked.includes(path) || to.masked.includes(path)) return [];
    const same = before !== null && after !== null && sameJson(before.value, after.value);
    return same ? [] : [{ field: path, from: before, to: after }];
  });
}

function sideValue({ effective, stored }: Side, scope: string, field: string): SideValue | null {
  const value = configValue(effective, scope, field);
  return value === undefined ? null : { value, stored: configValue(stored, scope, field) !== undefined };
}

async function printDifferencesJson(
  client: RepoconfClient,
  from: Side,
  to: Side,
  differences: readonly Difference[],
  { reveal }: DiffOptions,
): Promise<void> {
  const { printJson } = await import("../output/terminal.ts");
  const { listFields } = await import("../connect/fields.ts");
  const { printable } = await import("../output/masking.ts");
  const fields = await listFields(client);
  const masked = (field: string, side: SideValue | null) =>
    side && { ...side, value: printable(field, side.value, fields) };
  const shown = reveal
    ? differences
    : differences.map(one => ({ ...one, from: masked(one.field, one.from), to: masked(one.field, one.to) }));
  const place = ({ repo, revision }: Side) => ({ repo, revision });
  printJson({ from: place(from), to: place(to), differences: shown });
}

async function printDifferences(
  client: RepoconfClient,
  from: Side,
  to: Side,
  differences: readonly Difference[],
  { reveal }: DiffOptions,
): Promise<void> {
  const { listFields, showValue } = await import("../connect/fields.ts");
  const { forgottenMark, showDifference } = await import("../change/describe-change.ts");
  const { isTerminal, print, printNote, style } = await import("../output/terminal.ts");
  const fields = await listFields(client);
  // Every field has a value at every revision, unless it was erased.
  const unknown =
    from.repo !== to.repo ? [] : [...fields.keys()].filter(path => !isKnown(from, path) && !isKnown(to, path));
  if (isTerminal()) {
    const place = ({ repo, name, revision }: Side) => `${name} (${repo}), revision ${revision}`;
    const [left, right] = [place(from), from.repo === to.repo ? `revision ${to.revision}` : place(to)];
    print(style("dim", `${left} -> ${right}`));
    if (differences.length === 0) print("No difference.");
  }
  for (const { field, from: before, to: after } of differences) {
    const show = (side: SideValue | null) =>
      side === null
        ? forgottenMark
        : `${showValue(side.value, fields.get(field), reveal === true)}${side.stored ? "" : " (default)"}`;
    print(`${field}: ${showDifference(show(before), show(after))}`);
  }
  const hidden = [...new Set([...from.masked, ...to.masked])];
  if (hidden.length > 0) printNote(`Not compared, because this key may not see the values: ${hidden.join(", ")}`);
  if (unknown.length > 0) printNote(`Not compared, because both values were erased: ${unknown.join(", ")}`);
}

function isKnown({ effective, masked }: Side, path: string): boolean {
  if (masked.includes(path)) return true;
  const split = splitConfigPath(path);
  return split !== undefined && configValue(effective, split.scope, split.field) !== undefined;
}
