import { isDeepStrictEqual } from "node:util";
import type { ErrorEntry } from "../../shared/errors.ts";
import type { Grants, Right } from "../../shared/grants.ts";
import type { HistoryEntry, OperationName, OperationResults } from "../../shared/protocol.ts";
import type { TestClient } from "./daemon.ts";
import { entrySeen, may } from "./rights-model.ts";
import { type RightsWorld, repositories } from "./rights-world.ts";

/** One round of a key: collects what a client of the key sees that differs from the model. */
export class RightsCheck {
  /** A line for each leak, and for each thing withheld although the key may see it. */
  readonly wrong: string[] = [];
  /** Every reply received. */
  readonly replies: unknown[] = [];
  readonly world: RightsWorld;
  readonly owner: TestClient;
  readonly tool: TestClient;
  readonly grants: Grants;
  readonly name: string;
  readonly round: number;

  constructor(world: RightsWorld, tool: TestClient, grants: Grants, name: string, round: number) {
    this.world = world;
    this.owner = world.t.owner;
    this.tool = tool;
    this.grants = grants;
    this.name = name;
    this.round = round;
  }

  readonly ask: TestClient["call"] = async (name, args) => {
    const reply = await this.tool.call(name, args);
    this.replies.push(reply);
    return reply;
  };

  same(what: string, given: unknown, wanted: unknown): void {
    if (!isDeepStrictEqual(given, wanted))
      this.wrong.push(`${what}: ${JSON.stringify(given)}, and the model says ${JSON.stringify(wanted)}`);
  }

  /** Compares the key's reply with the owner's reply reduced by the model. `part` selects the compared part of both. */
  async compare<Name extends OperationName>(
    name: Name,
    args: { readonly [name: string]: unknown },
    reduce: (result: OperationResults[Name]) => unknown,
    part = (result: OperationResults[Name]): OperationResults[Name] => result,
  ): Promise<void> {
    const [given, wanted] = [await this.ask(name, args), await this.owner.call(name, args)];
    this.same(
      `${name} ${JSON.stringify(args)}`,
      [part(given.result), given.revision, given.errors],
      [reduce(part(wanted.result)), wanted.revision, wanted.errors],
    );
  }

  may(right: Right, repo: string, field: string): boolean {
    return may(this.grants, right, repo, field);
  }

  mayAny(right: Right, repo: string): boolean {
    return this.world.paths.some(field => this.may(right, repo, field));
  }

  get visible(): readonly string[] {
    return repositories.filter(repo => this.mayAny("read", repo));
  }

  readonly entriesSeen = (repo: string, entries: readonly HistoryEntry[]) =>
    entries.flatMap(entry => entrySeen(this.grants, this.name, repo, entry) ?? []);
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
