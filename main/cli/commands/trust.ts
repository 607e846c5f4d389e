import type { Command } from "commander";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { ProposedValue, UntrustedValue } from "../../../shared/protocol.ts";
import { describeEffect } from "../../../shared/scopes/describe-effect.ts";
import { showDifference } from "../change/show-difference.ts";
import {
  addJsonOption,
  addRepositoryOption,
  addSessionOptions,
  type OutputOptions,
  type RepositoryOptions,
  type SessionOptions,
} from "../command-options.ts";
import { type Fields, listFields } from "../connect/fields.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { printable } from "../output/masking.ts";
import { confirm, print, printJson, printNote } from "../output/terminal.ts";
import type { ReviewedScope } from "../scopes/trust-scopes.ts";
import { acceptProposal, askForProposals, proposalAsJson } from "../trust/proposals.ts";

interface TrustOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly accept?: readonly string[];
  readonly decline?: string;
  readonly reveal?: boolean;
}

/** `repoconf trust`: shows values in a work tree's file that run as commands, and lets the user trust them. */
export function addTrustCommand(program: Command): void {
  addJsonOption(addRepositoryOption(addSessionOptions(program.command("trust"))))
    .argument("[field...]", "only these fields, such as svc.services (default: all untrusted values)")
    .summary("review commands and scopes that came with a pull or that keys propose, and trust them")
    .description(
      "review commands and scopes that came with a pull or that keys propose, and trust them\n\nCommands and environment variables that come with a work tree's .repoconf.json are not used until a person trusts them. This shows each of them in full, including masked ones, next to the active value, and asks. Without a terminal it trusts only what --accept names. Then it shows what keys without the right to set commands propose.\n\nIt first shows the scopes in the work tree's .repoconf/scopes that are missing or different in the home, and the values, in any repository, that each would make commands or environment variables: the daemon does not use them until you copy them into the home, where they apply to all repositories.",
    )
    .option(
      "--accept <hash>",
      "trust the value with this hash, as printed by --json, without asking (may be repeated)",
      (hash: string, before: readonly string[] = []) => [...before, hash],
    )
    .option("--decline <id>", "remove the proposal with this id, as printed by --json; a key may withdraw its own")
    .option("--reveal", "with --json, print masked values in clear text")
    .action(trust);
}

async function trust(fields: readonly string[], options: TrustOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const { chooseRepository } = await import("../connect/repositories.ts");
  const { readOfferedScopes } = await import("../../check/offered-scopes.ts");
  await withSession(options, async ({ client, home }) => {
    if (options.decline !== undefined) return decline(client, options.decline, options);
    const { id, path } = await chooseRepository(client, options.repo);
    const proposed = (await client.run("proposal/list", { repo: id })).filter(isWanted(fields));
    const waiting = await untrustedValues(client, id);
    if (waiting === undefined && !(options.json && options.accept === undefined)) throw onlyProposes();
    let all = waiting ?? [];
    const printAll = async (
      others: readonly object[],
      values: readonly UntrustedValue[],
      proposals: readonly ProposedValue[] = [],
    ) => {
      const known = options.reveal ? undefined : await listFields(client);
      const shown = known === undefined ? values : values.map(value => printableValue(value, known));
      printJson([...others, ...shown, ...proposals.map(one => proposalAsJson(one, known))]);
    };
    let { accept: hashes } = options;
    let takenScopes: readonly object[] = [];
    const isOfOwner = waiting !== undefined && fields.length === 0;
    const found = path === undefined || !isOfOwner ? undefined : await readOfferedScopes(path, home);
    if (found?.hasOthers === true && !options.json && hashes === undefined)
      printNote("Some schemas in .repoconf/scopes cannot be used. To see why: repoconf check");
    const { offered } = found ?? { offered: [] };
    if (offered.length > 0) {
      const { acceptScopes, askForScopes, reviewScope, scopeAsJson } = await import("../scopes/trust-scopes.ts");
      const known = options.reveal || !options.json ? undefined : await listFields(client);
      const asJson = (one: ReviewedScope) => scopeAsJson(one, known);
      const scopes: ReviewedScope[] = [];
      for (const one of offered) scopes.push(await reviewScope(client, one));
      if (hashes !== undefined) {
        const taken = await acceptScopes(client, home, scopes, hashes, options.json === true);
        hashes = hashes.filter(hash => !taken.some(one => one.hash === hash));
        takenScopes = taken.map(asJson);
      } else if (options.json) return printAll(scopes.map(asJson), all, proposed);
      else {
        if ((await askForScopes(client, home, scopes, id)) > 0) process.exitCode = exitCodes.failed;
        // A new scope may have untrusted values.
        all = (await untrustedValues(client, id)) ?? [];
        if (all.length + proposed.length === 0) return;
      }
    }
    const unknown = fields.find(field => ![...all, ...proposed].some(one => one.field === field));
    if (unknown !== undefined) throw new CommandError(`Nothing to trust in ${unknown}.`, exitCodes.refused);
    const wanted = all.filter(isWanted(fields));
    if (hashes !== undefined) {
      const taken = proposed.filter(({ hash = "" }) => hashes?.includes(hash));
      const others = hashes.filter(hash => !taken.some(one => one.hash === hash));
      const accepted = await acceptNamed(client, wanted, others, options);
      for (const one of taken) await acceptProposal(client, one, options.json === true);
      return options.json ? printAll(takenScopes, accepted, taken) : undefined;
    }
    if (options.json) return printAll([], wanted, proposed);
    if (wanted.length + proposed.length === 0) return print("Nothing to trust.");
    const left = (await showAndAsk(client, wanted)) + (await askForProposals(client, proposed));
    if (left > 0) process.exitCode = exitCodes.failed;
  });
}

function isWanted(fields: readonly string[]) {
  return ({ field }: { readonly field: string }) => fields.length === 0 || fields.includes(field);
}

/** Undefined for a key other than the owner's. */
async function untrustedValues(client: RepoconfClient, repo: string): Promise<readonly UntrustedValue[] | undefined> {
  return client.run("trust/list", { repo }).catch(error => {
    if (error instanceof RepoconfError && error.code === 1105) return undefined;
    throw error;
  });
}

function onlyProposes(): CommandError {
  const message =
    "Only the owner's key may trust values and scopes. To list what this key proposes: repoconf trust --json. To withdraw one: repoconf trust --decline ID";
  return new CommandError(message, exitCodes.notAllowed);
}

async function decline(client: RepoconfClient, id: string, { json }: OutputOptions): Promise<void> {
  await client.run("proposal/remove", { id });
  if (json) printJson({ proposal: id });
  else print(`Removed the proposal ${id}.`);
}

async function acceptNamed(
  client: RepoconfClient,
  waiting: readonly UntrustedValue[],
  hashes: readonly string[],
  { json }: OutputOptions,
): Promise<readonly UntrustedValue[]> {
  const missing = hashes.find(hash => !waiting.some(one => one.hash === hash));
  if (missing !== undefined) {
    const message = `No untrusted value has the hash ${missing}: the file may have changed. Review it again: repoconf trust --json`;
    throw new CommandError(message, exitCodes.refused);
  }
  const accepted = waiting.filter(({ hash }) => hashes.includes(hash));
  for (const one of accepted) await accept(client, one, json === true);
  return accepted;
}

function printableValue(one: UntrustedValue, fields: Fields): UntrustedValue {
  const show = (value: JsonValue) => printable(one.field, value, fields);
  return { ...one, value: show(one.value), serving: show(one.serving) };
}

/** Shows each untrusted value and asks whether to trust it. Returns how many are left, and says how to trust them later. */
export async function showAndAsk(client: RepoconfClient, waiting: readonly UntrustedValue[]): Promise<number> {
  let left = 0;
  for (const one of waiting) {
    show(one);
    if (await confirm(`Trust this value of ${one.field}?`)) await accept(client, one, false);
    else left += 1;
  }
  printLeft(waiting, left);
  return left;
}

/** Shows each untrusted value, masked as in lists, and says how to trust them. */
export async function showMasked(client: RepoconfClient, waiting: readonly UntrustedValue[]): Promise<void> {
  const fields = await listFields(client);
  for (const one of waiting) show(printableValue(one, fields));
  printLeft(waiting, waiting.length);
}

function printLeft([first]: readonly UntrustedValue[], left: number): void {
  if (left > 0 && first !== undefined)
    print(
      `${left === 1 ? "It is" : `${left} are`} not used until you trust ${left === 1 ? "it" : "them"}, on a terminal: repoconf trust --repo ${first.repo}`,
    );
}

async function accept(client: RepoconfClient, { repo, field, hash }: UntrustedValue, quiet: boolean): Promise<void> {
  const { revision } = await client.run("trust/accept", { repo, field, hash });
  if (!quiet) print(`Trusted ${field}; it is active as of revision ${revision}.`);
}

function show({ field, value, effect, serving, hash }: UntrustedValue): void {
  showDifference(`${field} ${describeEffect(effect, field)}`, serving, value, hash);
}
