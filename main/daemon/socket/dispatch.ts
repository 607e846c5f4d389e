import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { RepoconfError, toRepoconfError } from "../../../shared/errors.ts";
import { isJsonObject, type JsonObject } from "../../../shared/json.ts";
import {
  emptyResult,
  type OperationArguments,
  type OperationName,
  type OperationResults,
  type Reply,
} from "../../../shared/protocol.ts";
import { describeSchemaProblem } from "../../../shared/schema/describe-problem.ts";
import { valueAt } from "../../../shared/value-edit.ts";
import type { Yielding } from "../../time/yielding.ts";
import type { Caller } from "../keys/caller.ts";
import { isRefusal } from "../observe/audit-log.ts";
import { argumentSchemas } from "./argument-schemas.ts";
import { Connection } from "./connection.ts";
import type { ConcurrencyLimit } from "./fairness/concurrency-limit.ts";
import type { KeyBudget } from "./fairness/key-budget.ts";
import { measureArguments } from "./measure.ts";
import { PreparedReplies, type PreparedReply } from "./prepared-replies.ts";

/** Who sent a message: a connection, or a one-shot request. */
export interface Requester {
  readonly caller: Caller;
  /** Whether nobody waits for the reply any more. */
  readonly hasEnded: boolean;
}

export interface RequestContext {
  readonly caller: Caller;
  /** Undefined for a one-shot request. */
  readonly connection: Connection | undefined;
  /** Bytes of the arguments as JSON. */
  readonly bytes: number;
}

/** The outcome of an operation: the members of the reply, with the original error objects. */
export interface Outcome<Result> {
  readonly result: Result;
  readonly errors?: readonly RepoconfError[];
  readonly revision?: number;
  readonly next?: string;
  /** The repository of a request by path. */
  readonly repo?: string;
  readonly schemas?: NonNullable<Reply["schemas"]>;
  readonly waits?: readonly string[];
  readonly linked?: NonNullable<Reply["linked"]>;
  readonly masked?: readonly string[];
  readonly typed?: NonNullable<Reply["typed"]>;
  /** Equal results are the same immutable object, so that its JSON text can be cached. */
  readonly isShared?: boolean;
}

export type Operations = {
  readonly [Name in OperationName]: (
    args: OperationArguments<Name>,
    context: RequestContext,
  ) => Outcome<OperationResults[Name]> | Promise<Outcome<OperationResults[Name]>>;
};

export interface DispatchOptions {
  readonly operations: Operations;
  readonly budget: KeyBudget;
  readonly concurrency: ConcurrencyLimit;
  readonly yielding: Yielding;
  /** Throws RepoconfError 1100 if the caller's key is not valid any more, 1113 if the daemon is stopping. */
  authorize(caller: Caller): void;
  /** Called with every request of a valid key for an existing operation, before anything else is checked. */
  onAsked(caller: Caller, operation: OperationName): void;
  /** Called with every error that is sent, and with its cause if it was unexpected. */
  onError(error: RepoconfError, operation: string): void;
  /** Called once for each request without the necessary rights; `operation` is an existing one, or "unknown". */
  onRefused(caller: Caller, operation: string, error: RepoconfError): void;
}

interface Answer {
  readonly reply: Reply | PreparedReply;
  /** Set if the operation did not run. */
  readonly failure?: RepoconfError;
}

/** `message`: the namespace, resource, operation and arguments. */
export type Dispatch = (message: readonly unknown[], from: Requester) => Promise<Answer>;

/** They send events, so they need a connection. */
const ofEvents: readonly string[] = ["config/watch", "config/unwatch"];

/**
 * Turns a message into its reply, always in the same steps: find the operation, authorize, validate, run, reply. This is the only
 * place that catches errors, so every message gets exactly one well-formed reply.
 */
export function createDispatch(options: DispatchOptions): Dispatch {
  const { operations, budget, concurrency, yielding, authorize, onAsked, onError, onRefused } = options;
  const replies = new PreparedReplies();

  async function run(name: string, message: readonly unknown[], from: Requester): Promise<Outcome<unknown>> {
    const { caller } = from;
    const connection = from instanceof Connection ? from : undefined;
    authorize(caller);
    if (!isOperationName(name))
      throw new RepoconfError(
        1109,
        `There is no operation "${name}". Emit "svc", resource, operation, args, callback.`,
      );
    onAsked(caller, name);
    if (connection === undefined && ofEvents.includes(name))
      throw new RepoconfError(1109, `${name} needs a connection that stays open: use a Socket.IO client.`);
    const args = message[3] ?? {};
    // Extra arguments are ignored, but count for the size.
    const bytes = measureArguments(args, ...message.slice(4));
    checkArguments(name, args);
    const operation = operations[name] as (args: unknown, context: RequestContext) => Promise<Outcome<unknown>>;
    const goOn = () => operation(args, { caller, connection, bytes });
    const waitForTurn = async () => {
      const release = await concurrency.acquire(caller);
      try {
        // Otherwise the waiting requests would run in a row, with no other work in between.
        await yielding.begin(caller.keyId).pass();
        // The key may have ended while this waited, or the client may have disconnected.
        authorize(caller);
        if (from.hasEnded && name !== "history/restore") return { result: emptyResult(name) };
        return await goOn();
      } finally {
        release();
      }
    };
    const start = () => (readsMuch(name, args) ? waitForTurn() : goOn());
    if (caller.owner) return start();
    return budget.run(caller, { bytes, work: bytes * repositoriesIn(args) }, () => {
      authorize(caller);
      return start();
    });
  }

  function reportErrors(errors: readonly RepoconfError[], name: string, { caller }: Requester): void {
    for (const error of errors) onError(error, name);
    const refusal = errors.find(error => isRefusal(error, caller));
    // The name of an unknown operation is text from the client.
    if (refusal !== undefined) onRefused(caller, isOperationName(name) ? name : "unknown", refusal);
  }

  return async (message, from) => {
    const name = operationName(message);
    try {
      const { result, errors: found = [], isShared, ...rest } = await run(name, message, from);
      reportErrors(found, name, from);
      const errors = found.map(error => error.toEntry());
      const isPrepared = isShared && typeof result === "object" && result !== null;
      return { reply: isPrepared ? replies.of(result, { ...rest, errors }) : { result, ...rest, errors } };
    } catch (thrown) {
      const failure = toRepoconfError(thrown);
      reportErrors([failure], name, from);
      return { reply: { result: emptyResult(name), errors: [failure.toEntry()] }, failure };
    }
  };
}

/** Whether it reads a history or many repositories. */
function readsMuch(name: OperationName, args: object): boolean {
  const has = (member: string) => (args as JsonObject)[member] != null;
  switch (name) {
    case "config/explain":
    case "config/search":
    case "config/matrix":
    case "config/cells":
    case "history/list":
    case "history/search":
    case "history/restore":
    case "repo/list":
    case "trust/preview":
      return true;
    case "config/list":
      return has("revision");
    case "config/watch":
      return has("since") || has("position");
    default:
      return false;
  }
}

/** How many repositories the arguments name, at least 1. */
function repositoriesIn(args: object): number {
  const { repo } = args as JsonObject;
  return Array.isArray(repo) ? Math.max(1, repo.length) : 1;
}

/**
 * `resource/operation` of a message, preceded by the namespace if that is not ours. Missing parts and those that are not strings
 * are empty, and long ones are cut, because they appear in error messages.
 */
function operationName([namespace, resource, operation]: readonly unknown[]): string {
  const part = (value: unknown) => (typeof value === "string" ? value.slice(0, 64) : "");
  const name = `${part(resource)}/${part(operation)}`;
  return namespace === "svc" ? name : `${part(namespace)}: ${name}`;
}

function isOperationName(name: string): name is OperationName {
  return Object.hasOwn(argumentSchemas, name);
}

// Checking the schemas against the meta-schema takes longer than the rest of a start; argument-schemas.test.ts does it instead.
const ajv = new Ajv2020({ allowUnionTypes: true, verbose: true, validateSchema: false });
const compiled = new Map<OperationName, ValidateFunction>();

/** Checks arguments against their operation's schema; throws RepoconfError 1101. Schemas are compiled when first needed. */
function checkArguments(name: OperationName, args: unknown): void {
  if (!isJsonObject(args)) throw new RepoconfError(1101, `The arguments of ${name} must be an object.`);
  const validate = compiled.get(name) ?? ajv.compile(argumentSchemas[name]);
  compiled.set(name, validate);
  if (validate(args)) return;
  const problems = (validate.errors ?? []).map(
    one => `args${one.instancePath} ${describeSchemaProblem(one, valueAt(args, one.instancePath))}`,
  );
  throw new RepoconfError(1101, `The arguments of ${name} are invalid: ${problems.join(", ")}.`);
}
