import type { FromSchema } from "json-schema-to-ts";
import type { Config } from "./config.ts";
import type { ErrorEntry } from "./errors.ts";
import type { Grants } from "./grants.ts";
import type { JsonValue } from "./json.ts";
import type { ScopeSchema } from "./scopes/scope-schema.ts";

/**
 * The one typed map of everything that crosses the socket: operations with their arguments and results, and events.
 * Server, client and tests import it. The prose is docs/protocol.md.
 */
export const protocolVersion = 1;

/** null counts as left out wherever an argument may be left out. */
const optionalString = { type: ["string", "null"] } as const;
const optionalBoolean = { type: ["boolean", "null"] } as const;
const repositories = { anyOf: [{ type: ["string", "null"] }, { type: "array", items: { type: "string" } }] } as const;
const limit = { type: ["integer", "null"], minimum: 1, maximum: 1000 } as const;

/** What `set`, `unset` and their like take beside their fields. None has a dot, so none can be taken for a field. */
const changeOptions = {
  revision: {
    anyOf: [
      { type: "null" },
      { type: "integer", minimum: 0 },
      { type: "object", additionalProperties: { type: "integer", minimum: 0 } },
    ],
  },
  atomic: optionalBoolean,
  dryRun: optionalBoolean,
  reason: { type: ["string", "null"], maxLength: 1000 },
} as const;

const grant = {
  type: "object",
  properties: {
    repos: {
      anyOf: [
        { const: "*" },
        { type: "array", items: { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$" } },
      ],
    },
    fields: {
      type: "array",
      minItems: 1,
      items: { type: "string", pattern: "^(\\*|[A-Za-z][A-Za-z0-9_.-]*\\*?)$", maxLength: 193 },
    },
    right: { enum: ["read", "write"] },
  },
  required: ["repos", "fields", "right"],
  additionalProperties: false,
} as const;

/**
 * The arguments of each operation as JSON Schemas: the daemon checks a message against them (1101) and the types come from them.
 * What is missing has codes of its own (1006, 1008), so little is `required` here.
 */
export const argumentSchemas = {
  "config/list": {
    type: "object",
    properties: {
      repo: optionalString,
      scope: optionalString,
      field: optionalString,
      stored: optionalBoolean,
      revision: { type: ["integer", "null"], minimum: 0 },
    },
  },
  "config/set": { type: "object", properties: { repo: repositories, ...changeOptions } },
  "config/unset": {
    type: "object",
    properties: {
      repo: repositories,
      fields: { type: ["array", "null"], items: { type: "string" } },
      ...changeOptions,
    },
  },
  "config/watch": {
    type: "object",
    properties: {
      repo: repositories,
      since: {
        anyOf: [
          { type: "null" },
          { type: "integer", minimum: 0 },
          { type: "object", additionalProperties: { type: "integer", minimum: 0 } },
        ],
      },
    },
  },
  "config/unwatch": { type: "object", properties: { repo: repositories } },
  "scope/list": { type: "object" },
  "repo/list": { type: "object", properties: { path: optionalString, limit, after: optionalString } },
  "repo/add": {
    type: "object",
    properties: {
      name: { type: "string", minLength: 1, maxLength: 200 },
      path: optionalString,
      id: optionalString,
      inTree: optionalBoolean,
    },
    required: ["name"],
  },
  "repo/update": {
    type: "object",
    properties: {
      repo: optionalString,
      name: { type: ["string", "null"], minLength: 1, maxLength: 200 },
      path: optionalString,
    },
  },
  "repo/remove": { type: "object", properties: { repo: optionalString } },
  "key/self": { type: "object" },
  "key/list": { type: "object", properties: { limit, after: optionalString } },
  "key/create": {
    type: "object",
    properties: {
      name: { type: "string", minLength: 1, maxLength: 100 },
      grants: { type: "array", items: grant, maxItems: 1000 },
      expires: optionalString,
    },
    required: ["name", "grants"],
  },
  "key/revoke": { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
  "daemon/status": { type: "object" },
  "daemon/stop": { type: "object" },
} as const;

export type OperationName = keyof typeof argumentSchemas;

type AllArguments = { [Name in OperationName]: FromSchema<(typeof argumentSchemas)[Name]> };

/** The arguments of an operation, as its schema has them. A set's fields are its further members, `<scope>.<field>`. */
export type OperationArguments<Name extends OperationName> = AllArguments[Name];

/** One field in the answer of a set (spec 4.2: "fields, values and descriptions"). */
export interface DescribedValue {
  readonly value: JsonValue;
  readonly description: string;
}

/** One repository in the answer of a set: the fields to which this set gave the requested value, no others. */
export interface ChangedRepository {
  readonly repo: string;
  readonly revision: number;
  readonly config: { readonly [scope: string]: { readonly [field: string]: DescribedValue } };
}

/** Something a person should know about a repository's file. `line` and `column` count from 1. */
export interface HealthProblem {
  readonly code: 1011 | 1103 | 1106;
  readonly message: string;
  readonly field?: string;
  readonly line?: number;
  readonly column?: number;
}

export interface RepositoryEntry {
  readonly id: string;
  readonly name: string;
  /** The work tree's folder, absolute. */
  readonly path?: string;
  /** Whether the values stand in `<path>/.repoconf.json` and not in the home. */
  readonly inTree: boolean;
  readonly revision: number;
  /** How many fields are stored (and readable by this key). */
  readonly modified: number;
  readonly health: readonly HealthProblem[];
}

export interface KeyEntry {
  readonly id: string;
  readonly name: string;
  readonly grants: Grants;
  /** RFC 3339, UTC. */
  readonly expires?: string;
}

export interface DaemonStatus {
  readonly version: string;
  readonly protocol: number;
  /** RFC 3339, UTC. */
  readonly startedAt: string;
  // The rest is for the owner's key only.
  readonly home?: string;
  readonly url?: string;
  readonly pid?: number;
  readonly repositories?: number;
  readonly sockets?: number;
  /** Requests turned away since the start, by cause. */
  readonly refusals?: { readonly [cause: string]: number };
  /** What is wrong with settings or scope files; empty when all is well. */
  readonly problems?: readonly string[];
}

export interface OperationResults {
  "config/list": Config;
  "config/set": readonly ChangedRepository[];
  "config/unset": readonly ChangedRepository[];
  "config/watch": { readonly revisions: { readonly [repo: string]: number } };
  "config/unwatch": Record<string, never>;
  "scope/list": readonly { readonly scope: string; readonly schema: ScopeSchema }[];
  "repo/list": readonly RepositoryEntry[];
  "repo/add": RepositoryEntry;
  "repo/update": RepositoryEntry;
  "repo/remove": { readonly movedTo: string };
  "key/self": KeyEntry;
  "key/list": readonly (KeyEntry & { readonly createdAt: string })[];
  "key/create": KeyEntry & { readonly key: string };
  "key/revoke": Record<string, never>;
  "daemon/status": DaemonStatus;
  "daemon/stop": Record<string, never>;
}

/** What stands in `result` when an operation failed as a whole: the empty result of spec 7, elsewhere null. */
export function emptyResult(name: string): unknown {
  switch (name) {
    case "config/list":
      return {};
    case "config/set":
    case "config/unset":
      return [];
    default:
      return null;
  }
}

/** The one argument of every callback. `errors` is empty when all went well. */
export interface Reply<Result = unknown> {
  readonly result: Result;
  readonly errors: readonly ErrorEntry[];
  /** Of a list: the repository's revision. */
  readonly revision?: number;
  /** Of a long list: the `after` that fetches what follows. */
  readonly next?: string;
}

type Split<Name extends OperationName> = Name extends `${infer Resource}/${infer Operation}`
  ? [Resource, Operation]
  : never;

/** `socket.emit("svc", resource, operation, args, callback)`, for each operation. */
export type OperationMessage = {
  [Name in OperationName]: [
    ...target: Split<Name>,
    args: OperationArguments<Name>,
    callback?: (reply: Reply<OperationResults[Name]>) => void,
  ];
}[OperationName];

/** Where a change came from: an operation, a hand edit (`file`), or a hand edit merged while a set was being written (`merge`). */
export type ChangeSource = "set" | "unset" | "file" | "merge" | "restore";

export interface FieldChange {
  readonly value: JsonValue;
  readonly previous: JsonValue;
  /** False after an unset: the value is the default. */
  readonly stored: boolean;
}

export interface ConfigChanged {
  readonly repo: string;
  readonly revision: number;
  /** RFC 3339, UTC, milliseconds. */
  readonly time: string;
  readonly actor: string;
  readonly source: ChangeSource;
  readonly reason?: string;
  readonly changes: { readonly [scope: string]: { readonly [field: string]: FieldChange } };
}

/** `socket.on("svc", (resource, event, payload) => ...)`. */
export type EventMessage =
  | [resource: "config", event: "changed", payload: ConfigChanged]
  | [resource: "repo", event: "added" | "updated" | "removed" | "health", payload: RepositoryEntry]
  | [resource: "scope", event: "changed", payload: { readonly scope: string }]
  | [resource: "key", event: "changed", payload: Record<string, never>];

export interface ClientToServerEvents {
  svc: (...message: OperationMessage) => void;
}

export interface ServerToClientEvents {
  svc: (...message: EventMessage) => void;
}
