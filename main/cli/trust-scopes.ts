import { setTimeout } from "node:timers/promises";
import type { RepoconfClient } from "../../shared/client/client.ts";
import { sameJson } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import type { OfferedScope } from "../check/offered-scopes.ts";
import { DurableTextFile } from "../files/durable-text-file.ts";
import type { Home } from "../home.ts";
import { CommandError } from "./exit-codes.ts";
import { showDifference } from "./show-difference.ts";
import { confirm, print, printNote } from "./terminal.ts";

/*
 * The daemon reads no schema out of a work tree: one that a person accepts is copied into the home, as the text that was shown. So a pull can neither
 * change it nor add one, and a scope means the same for all repositories of the home.
 */

export function scopeAsJson({ scope, file, value, hash, serving }: OfferedScope) {
  return { scope, file, hash, value, serving };
}

/** Shows each and asks. Returns how many were not taken. */
export async function askForScopes(
  client: RepoconfClient,
  home: Home,
  offered: readonly OfferedScope[],
): Promise<number> {
  let left = 0;
  for (const one of offered) {
    showDifference(`the scope ${one.scope}, from ${one.file}`, one.serving, one.value, one.hash);
    const question =
      one.serving === null
        ? `Copy the scope ${one.scope} into your home, for all repositories?`
        : `Replace the scope ${one.scope} in your home, for all repositories?`;
    if (await confirm(question)) await take(client, home, one, false);
    else left += 1;
  }
  if (left > 0)
    print(
      `${left === 1 ? "This scope is" : `${left} scopes are`} not used until you accept ${left === 1 ? "it" : "them"}.`,
    );
  return left;
}

/** Copies the scopes whose hashes were accepted, and returns them. */
export async function acceptScopes(
  client: RepoconfClient,
  home: Home,
  offered: readonly OfferedScope[],
  hashes: readonly string[],
  quiet: boolean,
): Promise<readonly OfferedScope[]> {
  const accepted = offered.filter(({ hash }) => hashes.includes(hash));
  for (const one of accepted) await take(client, home, one, quiet);
  return accepted;
}

async function take(client: RepoconfClient, home: Home, one: OfferedScope, quiet: boolean): Promise<void> {
  const { scope, text, homeFile } = one;
  const file = new DurableTextFile({
    path: homeFile,
    temporaryFolder: home.temporary,
    mode: 0o600,
    maximumBytes: limits.scopeBytes,
  });
  await file.write(text).catch(error => {
    throw new CommandError(`${homeFile} cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  });
  if (await isServed(client, one)) {
    if (!quiet) print(`Copied the scope ${scope} to ${homeFile}.`);
  } else printNote(`${homeFile} was written, but the daemon does not use it yet; to see why: repoconf doctor`);
}

/** Milliseconds between two looks, and in all. */
const [pause, patience] = [50, 5_000];

/** The daemon reads it by itself; wait, so that the next request already uses it. */
async function isServed(client: RepoconfClient, { scope, value }: OfferedScope): Promise<boolean> {
  for (let waited = 0; waited < patience; waited += pause) {
    const known = (await client.run("scope/list", {})).find(one => one.scope === scope);
    if (known !== undefined && sameJson(known.schema, value)) return true;
    await setTimeout(pause);
  }
  return false;
}
