import { isDeepStrictEqual } from "node:util";
import type { ErrorEntry } from "../../shared/errors.ts";
import type { Grants, Right } from "../../shared/grants.ts";
import type { HistoryEntry, OperationName, OperationResults } from "../../shared/protocol.ts";
import type { TestClient } from "./daemon.ts";
import { entrySeen, may } from "./rights-model.ts";
import { type RightsWorld, repositories } from "./rights-world.ts";

export type RightsCheck = ReturnType<typeof checkRights>;

/** One round of a key: collects what a client of the key sees that differs from the model. */
export function checkRights(
  world: RightsWorld,
  tool: Pick<TestClient, "call">,
  grants: Grants,
  name: string,
  round: number,
) {
  const { owner } = world.t;
  const wrong: string[] = [];
  const replies: unknown[] = [];
  const ask: TestClient["call"] = async (operation, args) => {
    const reply = await tool.call(operation, args);
    replies.push(reply);
    return reply;
  };
  const same = (what: string, given: unknown, wanted: unknown) => {
    if (!isDeepStrictEqual(given, wanted))
      wrong.push(`${what}: ${JSON.stringify(given)}, and the model says ${JSON.stringify(wanted)}`);
  };
  const mayAny = (right: Right, repo: string) => world.paths.some(field => may(grants, right, repo, field));
  return {
    world,
    owner,
    grants,
    name,
    round,
    /** A line for each leak, and for each thing withheld although the key may see it. */
    wrong,
    /** Every reply received. */
    replies: replies as readonly unknown[],
    ask,
    same,
    /** Compares the key's reply with the owner's reply reduced by the model. `part` selects the compared part of both. */
    compare: async <Name extends OperationName>(
      operation: Name,
      args: { readonly [name: string]: unknown },
      reduce: (result: OperationResults[Name]) => unknown,
      part = (result: OperationResults[Name]): OperationResults[Name] => result,
    ) => {
      const [given, wanted] = [await ask(operation, args), await owner.call(operation, args)];
      same(
        `${operation} ${JSON.stringify(args)}`,
        [part(given.result), given.revision, given.errors],
        [reduce(part(wanted.result)), wanted.revision, wanted.errors],
      );
    },
    may: (right: Right, repo: string, field: string) => may(grants, right, repo, field),
    mayAny,
    visible: repositories.filter(repo => mayAny("read", repo)),
    entriesSeen: (repo: string, entries: readonly HistoryEntry[]) =>
      entries.flatMap(entry => entrySeen(grants, name, repo, entry) ?? []),
  };
}

/** Makes two replies equal that differ only in this name. */
export function masked(reply: unknown, name: string): string {
  return JSON.stringify(reply).replaceAll(name, "NAME");
}

export function placesOf(errors: readonly ErrorEntry[]): string[] {
  return errors.map(({ code, repo, field }) => `${code} ${repo} ${field}`).sort();
}

/** The places at which a set of the field is rejected. */
export function refusals(check: RightsCheck, repos: readonly string[], field: string): string[] {
  const known = repos.filter(repo => check.mayAny("write", repo));
  const left = known.filter(repo => !check.may("write", repo, field));
  const places = repos.filter(repo => !known.includes(repo)).map(repo => `1007 ${repo} undefined`);
  if (left.length < known.length) places.push(...left.map(repo => `1007 ${repo} ${field}`));
  else if (known.length > 0) places.push(`1007 undefined ${field}`);
  return places.sort();
}
