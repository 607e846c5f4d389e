import type { RepoconfClient } from "../../../shared/client/client.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { ProposedValue } from "../../../shared/protocol.ts";
import { describeEffect } from "../../../shared/scopes/describe-effect.ts";
import { shortened } from "../../../shared/shortened.ts";
import { showDifference } from "../change/show-difference.ts";
import { type Fields, mask } from "../connect/fields.ts";
import { printable } from "../output/masking.ts";
import { confirm, print, style } from "../output/terminal.ts";

/** The characters of a value that are printed. About a longer one nobody is asked, because nobody would have seen all of it. */
const mostShown = 10_000;
const shownOfLong = 300;

/** Shows what keys propose, each beside the active value, and asks whether to set it. Returns how many are left. */
export async function askForProposals(client: RepoconfClient, proposals: readonly ProposedValue[]): Promise<number> {
  let left = 0;
  for (const one of proposals) {
    const { field, layer, value, by, time, reason, effect, serving = null, hash = "" } = one;
    const place = layer === undefined ? field : `${field} (${layer})`;
    const why = reason === undefined ? "" : `: ${reason}`;
    const what = effect === undefined ? "" : ` ${describeEffect(effect, field)}`;
    const unset = value === undefined ? ". It would be unset" : "";
    const title = `${place}${what}, proposed by ${by} at ${time}${why}${unset}`;
    const text = JSON.stringify(value ?? null);
    if (text.length > mostShown) {
      print(style("bold", title), style("green", `+ ${shortened(text, shownOfLong)}`));
      print(
        `  It has ${text.length} characters, too many to print here. To read all of it: repoconf ui, or repoconf trust ${field} --json --reveal. To set it then: repoconf trust --accept ${hash}`,
      );
      left += 1;
      continue;
    }
    showDifference(title, serving, value ?? null, hash);
    if (await confirm(`Set ${place} to this?`)) await acceptProposal(client, one, false);
    else left += 1;
  }
  if (left > 0)
    print("A proposal stays until you accept or decline it: repoconf trust --decline ID (ids: repoconf trust --json)");
  return left;
}

export async function acceptProposal(
  client: RepoconfClient,
  { id, field, hash = "" }: ProposedValue,
  quiet: boolean,
): Promise<void> {
  const { revision } = await client.run("proposal/accept", { id, hash });
  if (!quiet) print(`Accepted the proposal for ${field}; it is set as of revision ${revision}.`);
}

/** A proposal as JSON, with masked values only on request. */
export function proposalAsJson(one: ProposedValue, fields: Fields | undefined): object {
  const { id, value, serving, masked, ...rest } = one;
  const show = (shown: JsonValue) => {
    if (masked) return mask;
    return fields === undefined ? shown : printable(one.field, shown, fields);
  };
  return {
    ...{ proposal: id, ...rest },
    ...(value !== undefined && { value: show(value) }),
    ...(serving !== undefined && { serving: show(serving) }),
  };
}
