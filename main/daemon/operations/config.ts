import { limitExceeded, RepoconfError, toRepoconfError } from "../../../shared/errors.ts";
import type { JsonValue } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import type { ChangeArguments, Layer, MatrixField, MatrixRow, SearchHit } from "../../../shared/protocol.ts";
import { parseQuery } from "../../../shared/query/parse-query.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import {
  effectsOf,
  needsEffects,
  readTypedChanges,
  type ToldEffects,
  toldChanges,
  type ValueChanges,
} from "../../../shared/typed-changes.ts";
import { describeJsonProblem } from "../../files/json-text-problems.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { Clock } from "../../time/clock.ts";
import type { Yielding } from "../../time/yielding.ts";
import type { ConfigChangeRequest } from "../config/change-check.ts";
import type { ConfigChanges } from "../config/config-changes.ts";
import type { ConfigService } from "../config/config-service.ts";
import { foundRepositories, readCells, readMatrix } from "../config/matrix.ts";
import { Page } from "../config/pages.ts";
import { findRepositories } from "../config/search.ts";
import type { Caller } from "../keys/caller.ts";
import { argumentSchemas } from "../socket/argument-schemas.ts";
import type { Operations, RequestContext } from "../socket/dispatch.ts";
import { jsonBytes } from "../socket/measure.ts";
import { readableFields, schemasOf } from "./scope.ts";

type ConfigOperations = Pick<
  Operations,
  "config/list" | "config/set" | "config/unset" | "config/explain" | "config/search" | "config/matrix" | "config/cells"
>;

/** The maximum number of histories read for one page of a search by last changes, even if nothing is found in them. */
const historiesOfPage = 1_000;

const setOptions = new Set(Object.keys(argumentSchemas["config/set"].properties));

/** `config/*`: docs/protocol.md, "list", "set" and "Extensions". */
export function configOperations(
  service: ConfigService,
  changes: ConfigChanges,
  scopes: Scopes,
  yielding: Yielding,
  clock: Pick<Clock, "now">,
): ConfigOperations {
  /** Others may change the repository meanwhile; only a message depends on it. */
  async function effectsBefore(
    caller: Caller,
    repos: readonly string[],
    typed: ValueChanges,
    fields: ReadonlyMap<string, FieldSchema>,
  ): Promise<ToldEffects> {
    const [repo, ...others] = repos;
    if (repo === undefined || others.length > 0 || !needsEffects(typed)) return new Map();
    try {
      const active = await service.list(caller, { repo });
      const stored = await service.list(caller, { repo, stored: true });
      return effectsOf(typed, active.config, stored.config, fields);
    } catch (error) {
      // What the key may only write, or cannot be read, is not known to lack anything.
      if (error instanceof RepoconfError) return new Map();
      throw error;
    }
  }

  return {
    "config/list": async ({ repo, scope, field, stored, revision, schemas, waits, layers }, { caller }) => {
      if (!repo) throw noRepository();
      const request = { repo, scope: scope ?? undefined, field: field ?? undefined, stored: stored ?? undefined };
      // First, because a value that is read before its schema may be a text that the schema then makes a variable.
      const readable = schemas ? readableFields(scopes, caller) : undefined;
      // Before the values, because it reads the file: another branch may be checked out, and the daemon has not believed it yet.
      const waiting = waits ? await service.waiting(caller, repo) : undefined;
      const list = await service.list(caller, { ...request, revision: revision ?? undefined });
      const { linked } = (waits ? await service.entry(caller, repo) : undefined) ?? {};
      const layered = layers ? await service.readLayers(caller, repo) : undefined;
      const masked = layered === undefined ? list.masked : [...new Set([...list.masked, ...layered.masked])];
      return {
        ...{ result: list.config, revision: list.revision, isShared: list.isShared },
        ...(masked.length > 0 && { masked }),
        ...(readable !== undefined && { schemas: schemasOf(list.config, readable, list.masked) }),
        ...(waiting && { waits: waiting }),
        ...(linked !== undefined && { linked }),
        ...(layered && { layers: layered.layers }),
      };
    },

    "config/set": async (args, context) => {
      const options = changeOptions(args);
      const values = new Map<string, JsonValue | undefined>();
      for (const [name, value] of Object.entries(args)) {
        // The arguments came as JSON.
        if (!setOptions.has(name)) values.set(name, value as JsonValue);
      }
      for (const name of args.unset ?? []) {
        if (values.has(name)) throw new RepoconfError(1101, `${name} cannot be set and unset in the same request.`);
        values.set(name, undefined);
      }
      const typedCount = args.typed?.length ?? 0;
      if (typedCount > limits.fieldsPerSet) throw limitExceeded("fields in a set", typedCount, limits.fieldsPerSet);
      const readable = args.typed || args.schemas ? readableFields(scopes, context.caller) : new Map();
      const typed = readTypedChanges(args.typed ?? [], readable, describeJsonProblem);
      for (const name of [...Object.keys(typed.values), ...typed.unset]) {
        if (values.has(name)) throw new RepoconfError(1101, `${name} is both typed and set in the same request.`);
        values.set(name, typed.values[name]);
      }
      const allEdits = [...(args.edits ?? []), ...typed.edits];
      const edits = Map.groupBy(allEdits, ({ field }) => field);
      for (const name of edits.keys())
        if (values.has(name))
          throw new RepoconfError(1101, `${name} cannot be both set and in edits in the same request.`);
      const repos = namedRepositories(args.repo);
      if (![...values.keys(), ...edits.keys()].some(name => name.includes(".")))
        throw noField("Give at least one <scope>.<field> and its value, or name one in unset, edits or typed.");
      const editCount = allEdits.length;
      if (editCount > limits.editsPerSet) throw limitExceeded("edits in a set", editCount, limits.editsPerSet);
      checkLimits(repos, values, context, editCount);
      const effects = await effectsBefore(context.caller, repos, typed, readable);
      // As of `config/unset`, which a person who unsets fields means.
      const isUnset = typed.unset.length === values.size && editCount === 0;
      const source = isUnset ? "unset" : "set";
      const outcome = await changes.run(context.caller, { ...options, repos, values, edits, source });
      const changed = args.schemas ? outcome.result.map(({ config }) => schemasOf(config, readable)) : [];
      return {
        ...outcome,
        ...(args.schemas && { schemas: Object.assign({}, ...changed) }),
        ...(args.typed && { typed: toldChanges(typed, effects) }),
      };
    },

    "config/unset": async (args, context) => {
      const options = changeOptions(args);
      const repos = namedRepositories(args.repo);
      if (!args.fields || args.fields.length === 0) throw noField("Name at least one <scope>.<field> in fields.");
      const values = new Map(args.fields.map(name => [name, undefined]));
      checkLimits(repos, values, context);
      return changes.run(context.caller, { ...options, repos, values, source: "unset" });
    },

    "config/explain": async ({ repo, field, inside }, { caller }) => {
      if (!repo) throw noRepository();
      if (!field) throw noField("Name a <scope>.<field> as field.");
      return { result: await service.explain(caller, repo, field, inside ?? "") };
    },

    "config/search": async ({ query: text, limit, after }, { caller }) => {
      const query = parseQuery(text, clock.now());
      const page = new Page<SearchHit>(limit);
      const { entries } = page;
      const turn = yielding.begin(caller.keyId);
      let histories = 0;
      let last = after ?? undefined;
      for await (const { repo, isHit, fields, hasHistory } of findRepositories(caller, query, last, {
        service,
        scopes,
        turn,
      })) {
        // A page ends between two repositories, as `after` names one.
        if (page.isFull && (isHit || fields.length > 0))
          return { result: entries, ...(last !== undefined && { next: last }) };
        if (isHit) page.add({ repo });
        for (const { scope, field, value, isMasked } of fields)
          page.add({ repo, scope, field, ...(!isMasked && { value }) });
        last = repo;
        if (hasHistory) histories += 1;
        if (histories === historiesOfPage) return { result: entries, next: last };
      }
      return { result: entries };
    },

    "config/matrix": async ({ query: text, after }, { caller }) => {
      const query = parseQuery(text, clock.now());
      const context = { service, scopes, turn: yielding.begin(caller.keyId) };
      const page = new Page<string>(Number.POSITIVE_INFINITY);
      if (after) {
        for await (const repo of foundRepositories(caller, query, after, context)) {
          const next = page.isFull ? page.entries.at(-1) : undefined;
          if (next !== undefined) return { result: { repositories: page.entries }, next };
          page.add(repo);
        }
        return { result: { repositories: page.entries } };
      }
      const { repositories, fields } = await readMatrix(caller, query, context);
      for (const repo of repositories) if (!page.isFull) page.add(repo);
      const fieldPage = new Page<MatrixField>(Number.POSITIVE_INFINITY);
      for (const field of fields) if (!fieldPage.isFull) fieldPage.add(field);
      const total = { repositories: repositories.length, fields: fields.length };
      const next = page.entries.length < repositories.length ? page.entries.at(-1) : undefined;
      return {
        result: { repositories: page.entries, total, fields: fieldPage.entries },
        ...(next !== undefined && { next }),
      };
    },

    "config/cells": async ({ repo, fields, after }, { caller }) => {
      const ids = namedRepositories(repo);
      if (!fields || fields.length === 0) throw noField("Name at least one <scope>.<field> in fields.");
      if (ids.length > limits.repositoriesPerSet)
        throw limitExceeded("repositories of cells", ids.length, limits.repositoriesPerSet);
      if (fields.length > limits.fieldsPerSet)
        throw limitExceeded("fields of cells", fields.length, limits.fieldsPerSet);
      const turn = yielding.begin(caller.keyId);
      const wanted = new Set(fields);
      const page = new Page<MatrixRow>(limits.pageLength);
      const errors: RepoconfError[] = [];
      const left = after ? ids.slice(ids.indexOf(after) + 1) : ids;
      for (const [index, id] of left.entries()) {
        if (turn.isOver) await turn.pass();
        try {
          page.add(await readCells(caller, id, wanted, { service, scopes }));
        } catch (error) {
          errors.push(toRepoconfError(error));
        }
        if (page.isFull && index < left.length - 1) return { result: page.entries, errors, next: id };
      }
      return { result: page.entries, errors };
    },
  };
}

export function noRepository(): RepoconfError {
  return new RepoconfError(1006, "Give the id of a repository as repo. To list all repositories: repo/list.");
}

export function noField(message: string): RepoconfError {
  return new RepoconfError(1008, message);
}

function namedRepositories(repo: ChangeArguments["repo"]): string[] {
  const ids = requestedRepositories(repo);
  if (ids === undefined || ids.length === 0) throw noRepository();
  return ids;
}

/** Undefined if no repository is named, which means all of them. */
export function requestedRepositories(repo: ChangeArguments["repo"]): string[] | undefined {
  if (!repo) return undefined;
  return typeof repo === "string" ? [repo] : [...new Set(repo)];
}

export function changeOptions(args: ChangeArguments): Omit<
  ConfigChangeRequest,
  "repos" | "values" | "edits" | "source" | "layer"
> & {
  readonly layer: Layer | undefined;
} {
  const { atomic, dryRun, reason, flush, batch, layer } = args;
  return {
    // Without a repository there is nothing to compare, and 1006 will say so.
    revisions: args.repo ? expectedRevisions(args.repo, args.revision, "revision") : new Map(),
    atomic: atomic ?? false,
    dryRun: dryRun ?? false,
    reason: reason ?? undefined,
    flush: flush ?? false,
    batch: batch ?? undefined,
    layer: layer ?? undefined,
  };
}

/** Reads a number for one repository, or an object of ids and numbers for an array. */
export function expectedRevisions(
  repo: ChangeArguments["repo"],
  revision: ChangeArguments["revision"],
  name: string,
): ReadonlyMap<string, number> {
  if (revision === undefined || revision === null) return new Map();
  if (typeof revision === "number") {
    if (typeof repo === "string") return new Map([[repo, revision]]);
    throw new RepoconfError(1101, `With several repositories ${name} must be an object: { "<id>": number }.`);
  }
  if (typeof repo === "string") throw new RepoconfError(1101, `With one repository ${name} must be a number.`);
  return new Map(Object.entries(revision));
}

function checkLimits(
  repos: readonly string[],
  values: ReadonlyMap<string, JsonValue | undefined>,
  { bytes }: RequestContext,
  edits = 0,
): void {
  const fields = values.size + edits;
  if (fields > limits.fieldsPerSet) throw limitExceeded("fields in a set", fields, limits.fieldsPerSet);
  if (repos.length > limits.repositoriesPerSet) {
    throw limitExceeded("repositories in a set", repos.length, limits.repositoriesPerSet);
  }
  if (repos.length * bytes > limits.setWorkBytes) {
    throw limitExceeded(
      "bytes in a set (repositories times the message's bytes)",
      repos.length * bytes,
      limits.setWorkBytes,
    );
  }
  if (repos.length * fields > limits.setWorkFields) {
    throw limitExceeded("fields in a set (repositories times fields)", repos.length * fields, limits.setWorkFields);
  }
  for (const [name, value] of values) {
    const size = jsonBytes(value);
    if (size > limits.valueBytes) throw limitExceeded("bytes in a value", size, limits.valueBytes, name);
  }
}
