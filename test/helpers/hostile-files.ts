/** Files and schemas designed to be slow, as somebody might put them into a repository that others clone. */
import type { JsonValue } from "../../shared/json.ts";

interface HostileFile {
  readonly title: string;
  readonly text: string;
}

/** Texts of a repository's file, of about `bytes` each; `longest`: of a value that a scope of hostileScopes checks. */
export function hostileFiles(bytes: number): readonly HostileFile[] {
  const many = (piece: (index: number) => string, separator = ",", most = bytes - 200) => {
    const parts: string[] = [];
    for (let length = 0, index = 0; length < most; index++) {
      const part = piece(index);
      parts.push(part);
      length += part.length + separator.length;
    }
    return parts.join(separator);
  };
  const file = (config: string) => `{"name":"shop","config":{${config}}}`;
  const inSvc = (fields: string) => file(`"svc":{${fields}}`);
  return [
    { title: "unknown scopes", text: file(many(index => `"scope${index}":{"a":1}`)) },
    { title: "unknown scopes, a line each", text: file(many(index => `"scope${index}":{"a":1}`, ",\n")) },
    { title: "unknown fields", text: inSvc(many(index => `"field${index}":1`)) },
    {
      title: "unknown fields with numeric names",
      text: inSvc(many(index => `"${(index * 7919) % 4294967290}":1`)),
    },
    { title: "one long name", text: file(`"${"n".repeat(bytes - 100)}":{}`) },
    { title: "refused values", text: file(`"wide":{${many(index => `"f${index}":"no number"`)}}`) },
    { title: "references to nothing", text: file(`"keys":{${many(index => `"k${index}":"none"`)}}`) },
    { title: "an array of numbers", text: inSvc(`"envvars":[${many(() => "1")}]`) },
    { title: "arrays in arrays", text: inSvc(`"envvars":[${many(() => `${"[".repeat(50)}${"]".repeat(50)}`)}]`) },
    { title: "empty objects", text: inSvc(`"envvars":[${many(() => "{}")}]`) },
    { title: "variables", text: inSvc(`"envvars":[${many(index => `{"name":"N${index}","value":""}`)}]`) },
    { title: "aliases", text: inSvc(`"proxy_aliases":[${many(index => `"a${index}"`)}]`) },
    { title: "one long text", text: inSvc(`"domain":"${"a".repeat(bytes - 100)}"`) },
    { title: "comments", text: file(many(() => "/**/", "")) },
    { title: "line comments", text: file(many(() => "//\n", "")) },
    { title: "line breaks", text: file(many(() => "\r", "")) },
    {
      title: "a long line with lines in it",
      text: `${" ".repeat(bytes / 2)}${file(`"a":{${many(i => `"f${i}":1`, ",\n", bytes / 2 - 200)}}`)}`,
    },
    { title: "duplicate names", text: inSvc(many(index => `"f${index % 30_000}":1`)) },
    { title: "unclosed brackets", text: "[".repeat(bytes) },
    { title: "unclosed quotes", text: `{${many(() => '"a', "\n")}` },
    { title: "invalid escapes", text: `{${many(() => '"\\u":1')}}` },
    { title: "a trailing comma", text: inSvc(`"envvars":[${many(() => "1")},]`) },
    { title: "NULs instead of text", text: "\0".repeat(bytes) },
    ...hostileValues(bytes).map(({ title, scope, value }) => ({
      title,
      text: `{"name":"shop","config":{"${scope}":{"field":${JSON.stringify(value)}}}}`,
    })),
  ];
}

const many = <Item>(count: number, item: (index: number) => Item) =>
  Array.from({ length: count }, (_, index) => item(index));
const scope = (field: object, more: object = {}) => ({ type: "object", properties: { field }, ...more });
/** Two branches per level, and both continue: 2^64 paths through 64 levels. */
const branching = (keyword: "anyOf" | "oneOf" | "allOf") => ({
  [keyword]: [
    { type: "object", properties: { a: { $ref: "#/$defs/tree" } } },
    { type: "object", properties: { a: { $ref: "#/$defs/tree" } } },
  ],
});

/** Scopes whose fields are slow to check, by name; each has a field called `field`, whose value is in hostileValues. */
export const hostileScopes: Readonly<Record<string, object>> = {
  weak: scope({ type: "string", pattern: "^(([a-z0-9]+)+\\.?)+$", default: "a" }),
  large: scope({ type: "string", pattern: "^(?:a?){400}a{400}$", default: "a".repeat(400) }),
  // It has a new state at each character: the up to 900 characters before it.
  new: scope({ type: "string", pattern: "(?:a[ab]{900}b)$", default: `a${"a".repeat(900)}b` }),
  texts: scope({ type: "array", items: { type: "string", pattern: "^a$|(?:a[ab]{900}b)$" }, default: [] }),
  names: scope({ type: "object", patternProperties: { "^(a+)+$": { type: "integer" } }, default: {} }),
  every: scope(
    { $ref: "#/$defs/tree", default: 1 },
    { $defs: { tree: { anyOf: [{ type: "integer" }, branching("allOf")] } } },
  ),
  any: scope({ $ref: "#/$defs/tree", default: 1 }, { $defs: { tree: { oneOf: [{ const: 1 }, branching("anyOf")] } } }),
  ladder: scope(
    { $ref: "#/$defs/d40", default: 1 },
    {
      $defs: Object.fromEntries([
        ["d0", { type: "integer" }],
        ...many(40, index => [
          `d${index + 1}`,
          { anyOf: [{ $ref: `#/$defs/d${index}` }, { $ref: `#/$defs/d${index}` }] },
        ]),
      ]),
    },
  ),
  circle: scope(
    { anyOf: [{ type: "integer" }, { $ref: "#/$defs/self" }], default: 1 },
    { $defs: { self: { allOf: [{ $ref: "#/$defs/self" }] } } },
  ),
  items: scope({
    type: "array",
    items: { allOf: many(2_000, index => ({ type: "integer", minimum: -index })) },
    default: [],
  }),
  unique: scope({ type: "array", uniqueItems: true, default: [] }),
  named: scope({ type: "array", uniqueItemProperties: ["name"], default: [] }),
  wide: {
    type: "object",
    properties: Object.fromEntries(many(5_000, index => [`f${index}`, { type: "integer", default: 1 }])),
  },
  keys: {
    type: "object",
    properties: {
      table: { type: "object", default: {} },
      ...Object.fromEntries(many(5_000, index => [`k${index}`, { type: "string", "x-keyOf": "table", default: "" }])),
    },
  },
};

/** Schemas of about `bytes` each, which are slow to read. Unusable ones are rejected. */
export function hostileSchemas(bytes: number): readonly HostileFile[] {
  const times = (length: number) => Math.floor(bytes / length);
  const text = { type: "string", default: "" };
  const nested = (depth: number): object => (depth === 0 ? {} : { not: nested(depth - 1) });
  const fields = (properties: object) => ({ type: "object", properties });
  const schemas: Readonly<Record<string, object>> = {
    "one field with many rules": scope({ allOf: many(times(30), index => ({ minimum: -index })), default: 1 }),
    "one field with many members": scope({ properties: members(times(30), {}), default: {} }),
    "nested rules": scope({ ...nested(1_000), default: {} }),
    "many fields": fields(members(times(40), text)),
    "a large default": scope({ items: { maximum: 9 }, default: many(times(2), () => 1) }),
    "a long list of choices": scope({ enum: many(times(8), index => index), default: 1 }),
    "many patterns": fields(patterned(index => `^${index}(?:(?:a{1,40}|b){1,20}c?){1,9}$`)),
    "patterns that are slow in the native engine": fields(patterned(index => `^(?:${index}|(?:a|aa|[^b])+)+$`)),
    "patterns of properties": fields(patterned(index => `^(?:\\p{L}{0,${index % 40}}\\P{Lu}){20}$`)),
    "unused definitions": scope(text, { $defs: members(times(40), { pattern: "^a" }) }),
  };
  const levels = times(8);
  return [
    ...Object.entries(schemas).map(([title, schema]) => ({ title, text: JSON.stringify(schema) })),
    {
      title: "nested rules, too deep to be read",
      text: `{"type":"object","properties":{"field":${'{"not":'.repeat(levels)}{}${"}".repeat(levels)}}}`,
    },
  ];
}

const members = (count: number, inner: object) => Object.fromEntries(many(count, index => [`m${index}`, inner]));
const patterned = (source: (index: number) => string) =>
  Object.fromEntries(
    many(900, index => [
      `p${index}`,
      { type: "string", default: "", anyOf: [{ const: "" }, { pattern: source(index) }] },
    ]),
  );

/** A text of a and b that does not repeat: Marsaglia's xorshift. */
function irregular(length: number): string {
  let state = 1;
  return many(length, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state & 1) === 0 ? "a" : "b";
  }).join("");
}

interface HostileValue {
  readonly title: string;
  readonly scope: string;
  readonly value: JsonValue;
  /** Whether its check is aborted because it takes too many steps. */
  readonly isEnded: boolean;
}

/** Values for the scopes above, of at most about `bytes`. */
export function hostileValues(bytes: number): readonly HostileValue[] {
  const nested = (depth: number, inner: JsonValue): JsonValue =>
    depth === 0 ? inner : { a: nested(depth - 1, inner) };
  const length = Math.floor(bytes / 12);
  return [
    { title: "a text of 65 bytes for a weak pattern", scope: "weak", value: `${"a".repeat(64)}!`, isEnded: false },
    {
      title: "a long text for a weak pattern",
      scope: "weak",
      value: `${"a".repeat(bytes - 200)}!`,
      isEnded: false,
    },
    { title: "a long text for a large pattern", scope: "large", value: "a".repeat(bytes - 200), isEnded: false },
    { title: "a text that is always new to a pattern", scope: "new", value: irregular(8_000), isEnded: true },
    {
      title: "many short texts, and one that is new at each character",
      scope: "texts",
      value: [...many(Math.floor(bytes / 5), () => "a"), irregular(16_000)],
      isEnded: true,
    },
    { title: "names for a weak pattern", scope: "names", value: { [`${"a".repeat(64)}!`]: "x" }, isEnded: false },
    { title: "branches that all hold", scope: "every", value: nested(55, 1), isEnded: true },
    { title: "branches that all fail", scope: "any", value: nested(55, "x"), isEnded: true },
    { title: "branches without a value's levels", scope: "ladder", value: "x", isEnded: true },
    { title: "a schema that leads to itself", scope: "circle", value: "x", isEnded: true },
    {
      title: "many rules for many items",
      scope: "items",
      value: many(Math.floor(bytes / 2) - 100, () => 1),
      isEnded: bytes > 10_000,
    },
    { title: "items that differ", scope: "unique", value: many(length, index => [index]), isEnded: false },
    {
      title: "items with names that differ",
      scope: "named",
      value: many(Math.floor(bytes / 20), index => ({ name: index })),
      isEnded: false,
    },
  ];
}
