import { setTimeout } from "node:timers/promises";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import { exactText, type JsonObject, sameJson } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import type { PreviewedEffect } from "../../../shared/protocol.ts";
import { describeEffect } from "../../../shared/scopes/describe-effect.ts";
import { withMasks } from "../../../shared/scopes/masks.ts";
import { runsAsCommand } from "../../../shared/scopes/scope-schema.ts";
import { shortenedList } from "../../../shared/shortened.ts";
import { pointerTokens } from "../../../shared/value-edit.ts";
import { visible } from "../../../shared/visible.ts";
import type { OfferedScope } from "../../check/offered-scopes.ts";
import { describeCause } from "../../files/describe-cause.ts";
import { DurableTextFile } from "../../files/durable-text-file.ts";
import type { Home } from "../../home/home.ts";
import { compileScope, type Scope } from "../../scopes/scopes.ts";
import { hashOfValue } from "../../store/values/trusted-values.ts";
import { showDifference } from "../change/show-difference.ts";
import type { Fields } from "../connect/fields.ts";
import { CommandError } from "../output/exit-codes.ts";
import { printable } from "../output/masking.ts";
import { confirm, print, printNote, style } from "../output/terminal.ts";

/*
 * The daemon never reads schemas from a work tree. When the user accepts one, the text that was shown is copied into the home, so a pull
 * can neither change nor add a schema, and a scope has the same meaning in all repositories of the home.
 */

/** An offered scope, and the values that it would make commands or environment variables. */
export interface ReviewedScope extends OfferedScope {
  readonly effects: readonly PreviewedEffect[];
  readonly compiled: Scope;
  /** The hash of what a person accepts: the parsed schema and these effects. */
  readonly hash: string;
}

/** `compiled`: the scope of its schema, if that is known. */
export async function reviewScope(
  client: RepoconfClient,
  one: OfferedScope,
  compiled = compileScope(one.scope, one.value),
): Promise<ReviewedScope> {
  const effects = await client.run("trust/preview", {
    scope: one.scope,
    text: JSON.stringify(withCommands(compiled)),
  });
  const hash = hashOfValue({
    schema: one.value,
    effects: effects.map(({ effect, ...rest }) => ({ ...rest, ...effect })),
  });
  return { ...one, effects, compiled, hash };
}

/** The schema with only the fields that run as commands and those that something refers to: it may be larger than a message. */
function withCommands({ schema, unset }: Scope): JsonObject {
  // One that is not set may have a type without null, so its null must not be taken for a default.
  const fields = Object.entries(schema.properties).map(([name, { default: byDefault, ...field }]) => {
    const isUnset = unset.has(name);
    return [name, isUnset ? field : { ...field, default: byDefault }] as const;
  });
  const commands = fields.filter(([, field]) => runsAsCommand(field));
  const targets = commands.map(([, field]) => field["x-keyOf"]);
  const references = JSON.stringify(schema).matchAll(/"\$ref":"#\/properties\/([^"/]+)/g);
  const referred = new Set([...references].flatMap(([, token = ""]) => pointerTokens(`/${decodeURIComponent(token)}`)));
  const kept = fields.filter(([name, field]) => runsAsCommand(field) || targets.includes(name) || referred.has(name));
  return { ...schema, properties: Object.fromEntries(kept) } as unknown as JsonObject;
}

/**
 * `known`: the fields of the home; masked values are hidden, and those of fields that it does not have. Undefined shows all. Defaults
 * are part of the schema, which is shown.
 */
export function scopeAsJson(one: ReviewedScope, known: Fields | undefined) {
  const { scope, file, value, hash, serving, effects, compiled } = one;
  const { properties } = withMasks(compiled.schema);
  const fields = new Map(Object.entries(properties).map(([field, schema]) => [joinConfigPath(scope, field), schema]));
  const shown = effects.map(one => {
    if (known === undefined || !one.stored) return one;
    return { ...one, value: printable(one.field, printable(one.field, one.value, fields), known) };
  });
  return { scope, file, hash, value, serving, effects: shown, notes: compiled.notes, required: compiled.required };
}

/** Shows each scope of a repository and asks whether to accept it. Returns how many were not accepted. */
export async function askForScopes(
  client: RepoconfClient,
  home: Home,
  offered: readonly ReviewedScope[],
  repo: string,
): Promise<number> {
  let left = 0;
  for (const one of offered) if (!(await askForScope(client, home, one))) left += 1;
  if (left > 0)
    print(
      `${left === 1 ? "This scope is" : `${left} scopes are`} not used until you accept ${left === 1 ? "it" : "them"}, on a terminal: repoconf trust --repo ${repo}`,
    );
  return left;
}

/** Whether the scope was accepted. If what it would do changes meanwhile, shows it again. */
async function askForScope(client: RepoconfClient, home: Home, one: ReviewedScope): Promise<boolean> {
  showDifference(`the scope ${one.scope}, from ${one.file}`, one.serving, one.value, one.hash);
  for (const note of notesOf(one.scope, one.compiled)) print(`  ${note}.`);
  await showEffects(client, one.effects);
  const question =
    one.serving === null
      ? `Copy the scope ${one.scope} into your home, for all repositories?`
      : `Replace the scope ${one.scope} in your home, for all repositories?`;
  if (!(await confirm(question))) return false;
  const now = await reviewScope(client, one, one.compiled);
  if (now.hash === one.hash) {
    await copyToHome(client, home, one, false);
    return true;
  }
  print("Values have changed meanwhile, so this scope would do something else. Review it again.");
  return askForScope(client, home, now);
}

/** The number of repositories to name for one value, and of fields. */
const maxNamed = 10;

/** What of a scope has no effect, and what it asks of every repository; a sentence each. */
export function notesOf(scope: string, { notes, required }: Pick<Scope, "notes" | "required">): readonly string[] {
  const fields = required.map(field => joinConfigPath(scope, field));
  const asked = `in a repository in which ${shortenedList(fields, maxNamed)} ${required.length === 1 ? "is" : "are"} not set, repoconf run starts nothing`;
  return [...notes, ...(required.length > 0 ? [asked] : [])].map(visible);
}

/** Shows what a scope would run or put into the environment, in full: nobody should accept a rule without the values that it is for. */
export async function showEffects(client: RepoconfClient, effects: readonly PreviewedEffect[]): Promise<void> {
  if (effects.length === 0) return;
  const names = new Map((await client.repositories()).map(({ id, name }) => [id, name]));
  const listed = (ids: readonly string[]) => {
    const named = ids.map(id => names.get(id) ?? id);
    return named.length === 0 ? "no repository so far" : shortenedList(named, maxNamed);
  };
  print(style("bold", "With this scope:"));
  let shown = "";
  for (const { field, effect, value, stored, waits, repos } of effects) {
    if (field !== shown) print(`  ${field} ${describeEffect(effect, field)}`);
    shown = field;
    const what = stored ? "the value" : "its default";
    const when = waits ? ", not used until you trust it there" : "";
    print(`    ${what} in ${listed(repos)}${when}:`);
    for (const line of exactText(value).split("\n")) print(style("green", `    + ${line}`));
  }
}

/** Copies the scopes whose hashes were accepted, and returns them. */
export async function acceptScopes(
  client: RepoconfClient,
  home: Home,
  offered: readonly ReviewedScope[],
  hashes: readonly string[],
  quiet: boolean,
): Promise<readonly ReviewedScope[]> {
  const accepted = offered.filter(({ hash }) => hashes.includes(hash));
  for (const one of accepted) await copyToHome(client, home, one, quiet);
  return accepted;
}

export async function copyToHome(
  client: RepoconfClient,
  home: Home,
  one: ReviewedScope,
  quiet: boolean,
): Promise<void> {
  const { scope, text, homeFile } = one;
  const file = new DurableTextFile({
    path: homeFile,
    temporaryFolder: home.temporary,
    mode: 0o600,
    maximumBytes: limits.scopeBytes,
  });
  await file.write(text).catch(error => {
    throw new CommandError(`${homeFile} cannot be written: ${describeCause(error)}`);
  });
  if (await isActive(client, one)) {
    if (!quiet) print(`Copied the scope ${scope} to ${homeFile}.`);
  } else printNote(`${homeFile} was written, but the daemon does not use it yet; to see why: repoconf doctor`);
}

/** Milliseconds. */
const [pollInterval, timeout] = [50, 5_000];

/** Waits until the daemon has read the schema, so that the next request uses it. False after the timeout. */
async function isActive(client: RepoconfClient, { scope, compiled: { schema } }: ReviewedScope): Promise<boolean> {
  for (let waited = 0; waited < timeout; waited += pollInterval) {
    const known = (await client.run("scope/list", {})).find(one => one.scope === scope);
    if (known !== undefined && sameJson(known.schema, schema)) return true;
    await setTimeout(pollInterval);
  }
  return false;
}
