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
 * The daemon never reads schemas from a work tree. When the user accepts one, the text that was shown is copied into the home, so a pull
 * can neither change nor add a schema, and a scope has the same meaning in all repositories of the home.
 */

export function scopeAsJson({ scope, file, value, hash, serving }: OfferedScope) {
  return { scope, file, hash, value, serving };
}

/** Shows each scope and asks whether to accept it. Returns how many were not accepted. */
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
    if (await confirm(question)) await copyToHome(client, home, one, false);
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
  for (const one of accepted) await copyToHome(client, home, one, quiet);
  return accepted;
}

async function copyToHome(client: RepoconfClient, home: Home, one: OfferedScope, quiet: boolean): Promise<void> {
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
  if (await isActive(client, one)) {
    if (!quiet) print(`Copied the scope ${scope} to ${homeFile}.`);
  } else printNote(`${homeFile} was written, but the daemon does not use it yet; to see why: repoconf doctor`);
}

/** Milliseconds. */
const [pollInterval, timeout] = [50, 5_000];

/** Waits until the daemon has read the schema, so that the next request uses it. False after the timeout. */
async function isActive(client: RepoconfClient, { scope, value }: OfferedScope): Promise<boolean> {
  for (let waited = 0; waited < timeout; waited += pollInterval) {
    const known = (await client.run("scope/list", {})).find(one => one.scope === scope);
    if (known !== undefined && sameJson(known.schema, value)) return true;
    await setTimeout(pollInterval);
  }
  return false;
}
