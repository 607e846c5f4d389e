import { type Command, Option } from "commander";
import { type RepoconfClient, RequestError } from "../../../shared/client/client.ts";
import { type Config, configValue } from "../../../shared/config.ts";
import { splitConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { FoundVariable } from "../../../shared/import/found-variables.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import type { Layer, OperationArguments, Reply, RepositoryEntry } from "../../../shared/protocol.ts";
import { describeEffect } from "../../../shared/scopes/describe-effect.ts";
import { effectOf, runsAsCommand } from "../../../shared/scopes/scope-schema.ts";
import { maskValue } from "../../../shared/scopes/value-text.ts";
import { shortened } from "../../../shared/shortened.ts";
import { applyValueEdits, valueAt } from "../../../shared/value-edit.ts";
import { visible } from "../../../shared/visible.ts";
import { showDifference } from "../change/describe-change.ts";
import {
  addJsonOption,
  addLayerOptions,
  addRepositoryOption,
  addSessionOptions,
  type LayerOptions,
  type OutputOptions,
  type RepositoryOptions,
  type SessionOptions,
} from "../command-options.ts";
import { type Fields, listFields, mask, showValue } from "../connect/fields.ts";
import { chooseToChange } from "../connect/repositories.ts";
import { isPlainSecret } from "../environment/secret-references.ts";
import { type ImportFormat, importFormats } from "../import/file-formats.ts";
import { type ReadValues, variablesField } from "../import/read-values.ts";
import { batchOfEnvironment, layerOf } from "../output/changes.ts";
import { CommandError, exitCodeOf, exitCodes } from "../output/exit-codes.ts";
import { printable, refuseHidden } from "../output/masking.ts";
import { confirmOrThrow, print, printJson, printNote } from "../output/terminal.ts";
import { readNamedFile } from "../system/named-file.ts";

interface ImportOptions extends SessionOptions, OutputOptions, RepositoryOptions, LayerOptions {
  readonly format?: ImportFormat;
  readonly map?: string;
  readonly service?: string;
  readonly dryRun?: boolean;
  readonly ignoreUnknown?: boolean;
  readonly yes?: boolean;
}

/** The maximum printed of problems, and of notes. */
const mostLines = 20;

interface Change {
  readonly field: string;
  /** Omitted if nothing is stored. */
  readonly previous?: JsonValue;
  readonly value: JsonValue;
}

/** `repoconf import FILE`: sets the values from a file, all in one revision or none. */
export function addImportCommand(program: Command): void {
  addLayerOptions(addJsonOption(addRepositoryOption(addSessionOptions(program.command("import")))))
    .argument("<file>", "such as .env, compose.yaml, or what repoconf export writes; - reads standard input")
    .summary("set the values from a file, after showing what would change")
    .description(
      `set the values from a file, after showing what would change

A variable of an env file (as dotenv reads it), of the [env] of a mise.toml, of the environment in a compose file, or of a plain export line in an .envrc becomes the field whose x-env it is; any other goes into svc.envvars, whose other variables stay. JSON, YAML and TOML have values by scope and field, or a --map says where they are. Everything is one revision, which one undo takes back.

A line that is not understood is named, and nothing is imported. What would surprise is told before you confirm: secrets in clear text, references that nothing replaces, and what is left out. With --json the output is one object: repo, revision and changes, with notes on what would surprise; if the file is rejected, only errors.

Into a repository whose values are in its work tree, it imports local values, which git does not get, unless you pass --shared.`,
    )
    .addOption(
      new Option(
        "--format <format>",
        "env names fields, as export writes them; dotenv, sh, fish and pwsh name variables, as env prints them (default: from the file's name and, for env files, the first line that export writes; else json)",
      ).choices(importFormats),
    )
    .option(
      "--map <file>",
      "for JSON, YAML and TOML: JSON with places in the file, such as /server/port, and their fields",
    )
    .option("--service <name>", "for compose files: the service, if several have an environment")
    .option("--dry-run", "only show what would change")
    .option("--ignore-unknown", "skip values without a field")
    .option("--yes", "do not ask for confirmation")
    .action(importValues);
}

async function importValues(file: string, options: ImportOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const { markedText } = await import("../../files/utf8-text.ts");
  const content = await readNamedFile(file, markedText);
  const mapping =
    options.map === undefined ? undefined : { name: options.map, content: await readNamedFile(options.map) };
  await withSession(options, async ({ client }) => {
    const repository = await chooseToChange(client, options.repo);
    const fields = await listFields(client);
    const { formatOfFile, readImportedFile } = await import("../import/file-formats.ts");
    const { importNotes } = await import("../import/assign-variables.ts");
    const { looksLikeSecret } = await import("../import/looks-like-secret.ts");
    const name = file === "-" ? "standard input" : file;
    const { format = formatOfFile(file, content), service, ignoreUnknown = false } = options;
    const wanted = await readImportedFile({ name, content, format, mapping, service, ignoreUnknown }, fields);
    const named = layerOf(options);
    const stored = await client.request("config/list", { repo: repository.id, stored: true, layers: true });
    failOnError(stored);
    // The list would lose the variables that this key cannot see.
    if (wanted.variables.length > 0) refuseHidden((stored.masked ?? []).filter(path => path === variablesField));
    const { revision = repository.revision, layers = { shared: stored.result } } = stored;
    // What was exported with a value of one's own must not get into the file that git has.
    const layer = named ?? (repository.inTree ? "local" : undefined);
    // By default, a value that counts already need not be a local one.
    const present = named === undefined ? stored.result : (layers[named] ?? {});
    const variables = layer === undefined ? stored.result : (layers[layer] ?? {});
    const notes = [...wanted.notes, ...mergeVariables(wanted, variables, fields)];
    const whole = { atomic: true, flush: true, ...batchOfEnvironment() };
    const how = { repo: repository.id, revision, ...whole, ...(layer && { layer }) };
    await refuseUnlessValid(client, name, wanted, options, { ...Object.fromEntries(wanted.values), ...how });

    const changes: Change[] = [];
    for (const [field, value] of wanted.values) {
      const { scope, field: name } = splitConfigPath(field) ?? { scope: "", field };
      const known = configValue(field === variablesField ? variables : present, scope, name);
      const previous = stored.masked?.includes(field) ? mask : known;
      if (!sameJson(previous, value)) changes.push({ field, ...(previous !== undefined && { previous }), value });
    }
    const set = { ...Object.fromEntries(changes.map(({ field, value }) => [field, value])), ...how };
    if (!options.json) printPreview(changes, wanted.variables, fields, layer, looksLikeSecret);
    const notesOnChanges = importNotes(changes, wanted.variables, fields);
    printNote(...shownOf(notes), ...shownOf(notesOnChanges));
    const done = { changes, notes: [...notes, ...notesOnChanges] };
    if (changes.length === 0 || options.dryRun) return printOutcome(repository, revision, done, fields, options);
    // Standard input cannot contain both the file and the answer.
    if (!options.yes) {
      if (file === "-") throw new CommandError("Nothing was changed. Standard input has the file, so pass --yes.");
      await confirmOrThrow(`Apply these changes to ${repository.name}?`, "Nothing was changed.");
    }
    const reply = await client.request("config/set", set);
    failOnError(reply, options.json === true);
    printOutcome(repository, reply.result[0]?.revision ?? revision, done, fields, options, layer);
  });
}

/** Puts the variables among those that are stored, by their names, and returns notes about them. */
function mergeVariables(read: ReadValues, stored: Config, fields: Fields): readonly string[] {
  const { values, variables, problems } = read;
  // To put each of many more in its place would take hours.
  if (JSON.stringify(variables.map(({ name, text: value }) => ({ name, value }))).length > limits.valueBytes) {
    problems.push(`${variablesField} holds at most ${limits.valueBytes} bytes, so import fewer or shorter variables.`);
    return [];
  }
  const { scope = "", field = "" } = splitConfigPath(variablesField) ?? {};
  const present = values.get(variablesField) ?? configValue(stored, scope, field) ?? [];
  const schema = fields.get(variablesField);
  const edits = variables.map(({ name, text }) => {
    return { field: variablesField, op: "add" as const, value: { name, value: text } };
  });
  const outcome = applyValueEdits(present, edits, schema);
  if (variables.length > 0 && "value" in outcome) values.set(variablesField, outcome.value ?? null);
  return [...values.keys()].flatMap(path => {
    const variable = fields.get(path)?.["x-env"];
    if (variable === undefined || valueAt(present, `/${variable}`, schema) === undefined) return [];
    return [
      `${variablesField} has ${variable} too, which is now ${path}. Run: repoconf unset ${variablesField}.${variable}`,
    ];
  });
}

/** The first lines, and how many more there are: a large file that is not what it seems has one for each of its lines. */
function shownOf(lines: readonly string[]): readonly string[] {
  const more = lines.length - mostLines;
  if (more <= 0) return lines;
  return [...lines.slice(0, mostLines), `And ${more.toLocaleString("en")} more. To print all: --json`];
}

/** Throws CommandError with the problems, if there are any. As JSON, those that the daemon found have their codes. */
async function refuseUnlessValid(
  client: RepoconfClient,
  name: string,
  { values, problems }: Pick<ReadValues, "values" | "problems">,
  options: ImportOptions,
  set: OperationArguments<"config/set">,
): Promise<void> {
  const { errors } = values.size === 0 ? { errors: [] } : await client.request("config/set", { ...set, dryRun: true });
  const all = [...problems.map(message => ({ message })), ...errors];
  if (all.length === 0) return;
  if (options.json) printJson({ errors: all });
  const [first] = errors;
  const code =
    first === undefined || problems.length > 0
      ? exitCodes.refused
      : exitCodeOf(new RepoconfError(first.code, first.message, first));
  const lines = shownOf(all.map(({ message }) => message)).map(visible);
  throw new CommandError([`Nothing was changed; ${name} was rejected:`, ...lines].join("\n"), code);
}

/** Of the variables of a file, the texts in it that do not look like secrets are shown; what is stored is not. */
function printPreview(
  changes: readonly Change[],
  variables: ReadValues["variables"],
  fields: Fields,
  layer: Layer | undefined,
  isHidden: (variable: FoundVariable) => boolean,
): void {
  if (layer === "local" && changes.length > 0) print("As local values, which only this machine has:");
  for (const { field, previous, value } of changes) {
    const schema = fields.get(field);
    const show = (shown: JsonValue | undefined) => {
      if (shown === undefined) return "(none)";
      return schema?.["x-secret"] === true && isPlainSecret(shown) ? mask : showValue(shown, schema, false);
    };
    const before = previous === undefined ? `${show(schema?.default ?? null)} (default)` : show(previous);
    // Nobody is asked to trust what is not in a work tree.
    const effect =
      layer === "local" && schema !== undefined && runsAsCommand(schema)
        ? `, which ${describeEffect(effectOf(schema), field)}`
        : "";
    const difference = `${showDifference(before, show(value))}${effect}`;
    if (field !== variablesField || variables.length === 0) print(`${field}: ${difference}`);
    else
      for (const variable of variables) {
        const { name, text } = variable;
        const one = valueAt(previous ?? [], `/${name}/value`, schema);
        const after = isHidden(variable) ? mask : shortened(showValue(text, undefined, true, { type: "string" }), 200);
        if (one !== text) print(`${field}.${name}: ${showDifference(show(one), after)}`);
      }
  }
}

function printOutcome(
  { id, name }: RepositoryEntry,
  revision: number,
  { changes, notes }: { readonly changes: readonly Change[]; readonly notes: readonly string[] },
  fields: Fields,
  { json, dryRun }: ImportOptions,
  layer?: Layer,
): void {
  const count = changes.length === 1 ? "1 field" : `${changes.length} fields`;
  if (json) {
    const shown = changes.map(change => printableOf(change, fields));
    printJson({ repo: id, revision, changes: shown, ...(notes.length > 0 && { notes }) });
  } else if (changes.length === 0) print("Nothing to change.");
  else if (dryRun) print("Nothing was changed (--dry-run).");
  else
    print(
      `Imported ${count} into ${name} (${id})${layer === "local" ? " as local values" : ""}, revision ${revision}.`,
    );
}

function printableOf({ field, previous, value }: Change, fields: Fields): Change {
  const isSecret = (shown: JsonValue) => fields.get(field)?.["x-secret"] === true && isPlainSecret(shown);
  const show = (shown: JsonValue) => (isSecret(shown) ? maskValue(shown, mask) : printable(field, shown, fields));
  return { field, ...(previous !== undefined && { previous: show(previous) }), value: show(value) };
}

function failOnError(reply: Reply, json = false): void {
  const [first] = reply.errors;
  if (json && first !== undefined) printJson({ errors: reply.errors });
  if (first?.code === 1104) {
    const message =
      "Nothing was changed: somebody changed the repository in the meantime. Run the import again to see what would change now.";
    throw new CommandError(message, exitCodes.refused);
  }
  if (first !== undefined) throw new RequestError(first, reply);
}
