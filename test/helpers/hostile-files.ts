/** Files and schemas designed to be slow, as somebody might put them into a repository that others clone. */
import type { JsonValue } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";

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
  const texts: { readonly [title: string]: string } = {
    "unknown scopes": file(many(index => `"scope${index}":{"a":1}`)),
    "unknown scopes, a line each": file(many(index => `"scope${index}":{"a":1}`, ",\n")),
    "unknown fields": inSvc(many(index => `"field${index}":1`)),
    "unknown fields with numeric names": inSvc(many(index => `"${(index * 7919) % 4294967290}":1`)),
    "one long name": file(`"${"n".repeat(bytes - 100)}":{}`),
    "refused values": file(`"wide":{${many(index => `"f${index}":"no number"`)}}`),
    "references to nothing": file(`"keys":{${many(index => `"k${index}":"none"`)}}`),
    "an array of numbers": inSvc(`"envvars":[${many(() => "1")}]`),
    "arrays in arrays": inSvc(`"envvars":[${many(() => `${"[".repeat(50)}${"]".repeat(50)}`)}]`),
    "empty objects": inSvc(`"envvars":[${many(() => "{}")}]`),
    variables: inSvc(`"envvars":[${many(index => `{"name":"N${index}","value":""}`)}]`),
    aliases: inSvc(`"proxy_aliases":[${many(index => `"a${index}"`)}]`),
    "one long text": inSvc(`"domain":"${"a".repeat(bytes - 100)}"`),
    comments: file(many(() => "/**/", "")),
    "line comments": file(many(() => "//\n", "")),
    "line breaks": file(many(() => "\r", "")),
    "a long line with lines in it": `${" ".repeat(bytes / 2)}${file(`"a":{${many(i => `"f${i}":1`, ",\n", bytes / 2 - 200)}}`)}`,
    "duplicate names": inSvc(many(index => `"f${index % 30_000}":1`)),
    "unclosed brackets": "[".repeat(bytes),
    "unclosed quotes": `{${many(() => '"a', "\n")}`,
    "invalid escapes": `{${many(() => '"\\u":1')}}`,
    "a trailing comma": inSvc(`"envvars":[${many(() => "1")},]`),
    "NULs instead of text": "\0".repeat(bytes),
  };
  return [
    ...Object.entries(texts).map(([title, text]) => ({ title, text })),
    ...hostileValues(bytes).map(({ title, scope, value }) => ({
      title,
      text: `{"name":"shop","config":{"${scope}":{"field":${JSON.stringify(value)}}}}`,
    })),
  ];
}

export const many = <Item>(count: number, item: (index: number) => Item) =>
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
    { $defs: { self: { allOf: many(2, () => ({ properties: { a: { $ref: "#/$defs/self" } } })) } } },
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
    "fields of many parts": {
      type: "object",
      allOf: many(times(60), index => fields({ [`m${index % 1_000}`]: { maximum: index } })),
      properties: { field: { $ref: "#/allOf/0/properties/m0", default: null } },
    },
    "many masked references": {
      ...fields(members(times(40), { $ref: "#/$defs/secret", default: "" })),
      $defs: { secret: { type: "string", "x-masked": true } },
    },
    "unused definitions": scope(text, { $defs: members(times(40), { pattern: "^a" }) }),
  };
  const levels = times(8);
  const deep = `{"type":"object","properties":{"field":${'{"not":'.repeat(levels)}{}${"}".repeat(levels)}}}`;
  return [
    ...Object.entries(schemas).map(([title, schema]) => ({ title, text: JSON.stringify(schema) })),
    { title: "nested rules, too deep to be read", text: deep },
  ];
}

const text = { type: "string", default: "" };
const members = (count: number, inner: object) => Object.fromEntries(many(count, index => [`m${index}`, inner]));
const patterned = (source: (index: number) => string) =>
  Object.fromEntries(
    many(900, index => [`p${index}`, { ...text, anyOf: [{ const: "" }, { pattern: source(index) }] }]),
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

/** Values for the scopes above, of at most about `bytes`; `isEnded`: their check is ended, because it takes too many steps. */
export function hostileValues(bytes: number) {
  const nested = (depth: number, inner: JsonValue): JsonValue =>
    depth === 0 ? inner : { a: nested(depth - 1, inner) };
  const length = Math.floor(bytes / 12);
  const values: { readonly [title: string]: readonly [scope: string, value: JsonValue, isEnded: boolean] } = {
    "a text of 65 bytes for a weak pattern": ["weak", `${"a".repeat(64)}!`, false],
    "a long text for a weak pattern": ["weak", `${"a".repeat(bytes - 200)}!`, false],
    "a long text for a large pattern": ["large", "a".repeat(bytes - 200), bytes > limits.valueBytes],
    "a text that is always new to a pattern": ["new", irregular(8_000), true],
    "many short texts, and one that is new at each character": [
      "texts",
      [...many(Math.floor(bytes / 5), () => "a"), irregular(16_000)],
      true,
    ],
    "names for a weak pattern": ["names", { [`${"a".repeat(64)}!`]: "x" }, false],
    "branches that all hold": ["every", nested(55, 1), true],
    "branches that all fail": ["any", nested(55, "x"), true],
    "branches without a value's levels": ["ladder", "x", true],
    "a schema that leads to itself": ["circle", nested(55, 1), true],
    "many rules for many items": ["items", many(Math.floor(bytes / 2) - 100, () => 1), bytes > 10_000],
    "items that differ": ["unique", many(length, index => [index]), false],
    "items with names that differ": ["named", many(Math.floor(bytes / 20), index => ({ name: index })), false],
  };
  return Object.entries(values).map(([title, [scope, value, isEnded]]) => ({ title, scope, value, isEnded }));
}
