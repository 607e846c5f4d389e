import { fieldPatternForm, keyRights } from "../../../shared/grants.ts";
import { limits } from "../../../shared/limits.ts";
import type { OperationArguments, OperationName } from "../../../shared/protocol.ts";
import { optionalBoolean, typedChange, valueEdit } from "./change-schemas.ts";

/*
 * The JSON Schemas that the arguments of each operation are checked against (1101). The types are in shared/protocol.ts;
 * the compiler checks that both have the same arguments.
 */

/** The arguments' names, without the fields of a set. */
type ArgumentName<Arguments> = keyof {
  [Name in keyof Arguments as Name extends `${string}.${string}` ? never : Name]: unknown;
};

interface ArgumentSchema<Arguments> {
  readonly type: "object";
  readonly properties: { readonly [Name in ArgumentName<Arguments>]: object };
  readonly required?: readonly ArgumentName<Arguments>[];
}

const optionalString = { type: ["string", "null"] } as const;
const repositories = { anyOf: [{ type: ["string", "null"] }, { type: "array", items: { type: "string" } }] } as const;
const optionalFields = { type: ["array", "null"], items: { type: "string" } } as const;
const revision = { type: ["integer", "null"], minimum: 0 } as const;
/** One repository, by its id or by a folder in it. */
const oneRepository = { repo: optionalString, path: optionalString } as const;
const query = { type: "string", maxLength: 1000 } as const;
/** Never empty: for a search, "" would be every change there is, which `undoBatch` would undo. */
const batch = { type: ["string", "null"], minLength: 1, maxLength: 100 } as const;
const limit = { type: ["integer", "null"], minimum: 1, maximum: limits.pageLength } as const;

const layer = { enum: ["shared", "local", null] } as const;

/** Arguments of `set`, `unset` and similar operations besides the fields. None has a dot, so none can be mistaken for a field. */
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
  flush: optionalBoolean,
  batch,
  path: optionalString,
  layer,
} as const;

/** One grant of a key. */
const grant = {
  type: "object",
  properties: {
    repos: {
      anyOf: [
        { const: "*" },
        {
          type: "array",
          items: { description: "a repository id", type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$" },
        },
      ],
    },
    fields: {
      type: "array",
      minItems: 1,
      items: {
        description: "a field such as svc.timeout, a prefix such as svc.proxy_*, or *",
        type: "string",
        pattern: fieldPatternForm,
        maxLength: 193,
      },
    },
    right: { enum: ["read", "write"] },
  },
  required: ["repos", "fields", "right"],
  additionalProperties: false,
} as const;

/** The schema of a key's grants. */
export const grantsSchema = { type: "array", items: grant, maxItems: 1000 } as const;

/** The schema of a key's further rights. */
export const rightsSchema = { type: "array", items: { enum: keyRights }, uniqueItems: true } as const;

const text = { type: "string" } as const;

const draftName = {
  type: "object",
  properties: {
    repo: { type: "string" },
    // The field need not exist: its scope may come back.
    field: { description: "a field such as svc.timeout", type: "string", pattern: "^[^.]+\\.", maxLength: 193 },
    known: { description: "the revision up to which the sender knows the draft", type: "integer", minimum: 0 },
  },
  required: ["repo"],
  additionalProperties: false,
} as const;

/** The schema of a draft, as an argument and in drafts.json. */
export const draftSchema = {
  description: "an unsaved edit of a field, or of the text of a file",
  type: "object",
  properties: { ...draftName.properties, value: {}, base: {}, layer: { enum: ["local"] }, masks: text, text },
  required: ["repo"],
  additionalProperties: false,
  if: { required: ["text"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: {
    properties: { field: false, value: false, layer: false, masks: false, base: { type: ["string", "null"] } },
    required: ["base"],
  },
  else: { required: ["field"] },
} as const;

export const argumentSchemas = {
  "config/list": {
    type: "object",
    properties: {
      ...oneRepository,
      scope: optionalString,
      field: optionalString,
      stored: optionalBoolean,
      revision,
      schemas: optionalBoolean,
      waits: optionalBoolean,
      layers: optionalBoolean,
    },
  },
  "config/set": {
    type: "object",
    properties: {
      repo: repositories,
      unset: optionalFields,
      edits: { type: ["array", "null"], items: valueEdit },
      typed: { type: ["array", "null"], items: typedChange },
      schemas: optionalBoolean,
      ...changeOptions,
    },
  },
  "config/unset": {
    type: "object",
    properties: {
      repo: repositories,
      fields: optionalFields,
      ...changeOptions,
    },
  },
  "config/explain": {
    type: "object",
    properties: { ...oneRepository, field: optionalString, inside: valueEdit.properties.path },
  },
  "config/hook": {
    type: "object",
    properties: { path: { type: "string", minLength: 1 }, shell: { enum: ["bash", "zsh", "fish", "pwsh"] } },
    required: ["path", "shell"],
  },
  "config/search": {
    type: "object",
    properties: { query, limit, after: optionalString },
    required: ["query"],
  },
  "config/matrix": { type: "object", properties: { query, after: optionalString }, required: ["query"] },
  "config/cells": {
    type: "object",
    properties: { repo: repositories, fields: optionalFields, after: optionalString },
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
      position: { type: ["string", "null"] },
      progress: { type: ["boolean", "null"] },
    },
  },
  "config/unwatch": { type: "object", properties: { repo: repositories } },
  "history/list": {
    type: "object",
    properties: { ...oneRepository, field: optionalString, limit, after: optionalString },
  },
  "history/search": {
    type: "object",
    properties: { query, batch, limit, after: optionalString },
    required: ["query"],
  },
  "history/restore": {
    type: "object",
    properties: {
      repo: optionalString,
      to: revision,
      undo: { type: ["array", "null"], items: { type: "integer", minimum: 1 }, minItems: 1, maxItems: 10_000 },
      fields: optionalFields,
      ...changeOptions,
      revision,
    },
  },
  "history/forget": { type: "object", properties: { repo: optionalString, field: optionalString } },
  "scope/list": { type: "object", properties: {} },
  "repo/list": {
    type: "object",
    properties: { repo: optionalString, path: optionalString, limit, after: optionalString },
  },
  "repo/find": { type: "object", properties: { path: { type: "string", minLength: 1 } }, required: ["path"] },
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
      favourite: optionalBoolean,
    },
  },
  "repo/remove": { type: "object", properties: { repo: optionalString } },
  "repo/scan": { type: "object", properties: { path: { type: "string", minLength: 1 } }, required: ["path"] },
  "repo/look": { type: "object", properties: { path: { type: "string", minLength: 1 } }, required: ["path"] },
  "file/read": { type: "object", properties: { repo: optionalString, layer } },
  "file/write": {
    type: "object",
    properties: { repo: optionalString, layer, text: { type: "string" }, expected: optionalString },
    required: ["text", "expected"],
  },
  "file/restore": { type: "object", properties: { repo: optionalString, layer } },
  "trust/list": { type: "object", properties: { repo: optionalString } },
  "trust/accept": {
    type: "object",
    properties: { repo: optionalString, field: optionalString, hash: { type: "string" } },
    required: ["hash"],
  },
  "trust/preview": {
    type: "object",
    properties: { scope: { type: "string" }, text: { type: "string" } },
    required: ["scope", "text"],
  },
  "proposal/list": { type: "object", properties: { repo: optionalString } },
  "proposal/accept": {
    type: "object",
    properties: { id: { type: "string" }, hash: { type: "string" } },
    required: ["id", "hash"],
  },
  "proposal/remove": { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
  "draft/list": { type: "object", properties: {} },
  "draft/set": {
    type: "object",
    properties: {
      drafts: { type: ["array", "null"], items: draftSchema },
      removed: { type: ["array", "null"], items: draftName },
    },
  },
  "session/create": {
    type: "object",
    properties: {
      label: {
        description: "a lowercase letter, then up to 30 lowercase letters, digits, spaces and -",
        type: "string",
        pattern: "^[a-z][a-z0-9 -]{0,30}$",
      },
    },
    required: ["label"],
  },
  "session/link": {
    type: "object",
    properties: {
      byAddress: {
        description: "for browsers that cannot resolve names ending in .localhost",
        type: "boolean",
        nullable: true,
      },
    },
  },
  "session/touch": { type: "object", properties: {} },
  "key/self": { type: "object", properties: {} },
  "key/list": { type: "object", properties: { limit, after: optionalString } },
  "key/create": {
    type: "object",
    properties: {
      name: { type: "string", minLength: 1, maxLength: 100 },
      grants: grantsSchema,
      rights: { ...rightsSchema, type: ["array", "null"] },
      expires: optionalString,
      audited: { description: "whether each request of the key is in the audit file", type: "boolean", nullable: true },
    },
    required: ["name", "grants"],
  },
  "key/revoke": { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
  "daemon/dismiss": { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
  "daemon/status": { type: "object", properties: {} },
  "daemon/stop": { type: "object", properties: {} },
} as const satisfies { readonly [Name in OperationName]: ArgumentSchema<OperationArguments<Name>> };
