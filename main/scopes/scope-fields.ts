import { isFieldName } from "../../shared/config-path.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";
import { schemaPace } from "../../shared/schema/schema-pace.ts";
import { mappingSubschemas, type SubschemaMaker } from "../../shared/schema/subschemas.ts";
import { fieldKeywords, type ScopeSchema } from "../../shared/scopes/scope-schema.ts";
import { keepingReferences, pointedTo, tokensOf } from "./kept-references.ts";
import { standingFor } from "./schema-faults.ts";

/** A scope's schema with its fields, and what of it has no effect. */
export interface ScopeFields {
  readonly schema: ScopeSchema;
  /** The fields without a default: theirs is null, whatever their type is. */
  readonly unset: ReadonlySet<string>;
  /** The fields that should have a value (`required`) and have no default. */
  readonly required: readonly string[];
  /** One sentence for each. */
  readonly notes: readonly string[];
}

/** Rules for all fields together, which are not checked: only `required` and the fields' own schemas are. */
const rulesOfAll = [
  ...["anyOf", "dependencies", "dependentRequired", "dependentSchemas", "else", "if", "maxProperties", "minProperties"],
  ...["not", "oneOf", "patternProperties", "propertyNames", "then", "unevaluatedProperties"],
];

/**
 * Makes the properties of an object schema the fields of a scope, also those behind a `$ref` or an `allOf` at the root. Properties whose
 * names no field can have are left out. A field without a default gets null, "not set". `root`: from `translatingSchema`. Undefined if
 * there are no properties. Yields now and then.
 */
export function* collectingFields(root: JsonObject): Generator<void, ScopeFields | undefined> {
  const fields = new Map<string, JsonValue>();
  const required = new Set<string>();
  const ignored = new Set<string>();
  const leftOut = new Set<string>();
  /** Properties that are no field, or a field with other rules: references to them need what they were. */
  const moved = new Set<string>();
  const seen = new Set<JsonValue>();
  const isLong = schemaPace();
  function* visit(schema: JsonValue | undefined): Generator<void, void> {
    if (!isJsonObject(schema ?? null) || seen.has(schema ?? null)) return;
    const { $ref, allOf, properties, required: names, additionalProperties, ...rest } = schema as JsonObject;
    seen.add(schema ?? null);
    if (typeof $ref === "string") yield* visit(pointedTo(root, $ref));
    if (Array.isArray(allOf)) for (const part of allOf) yield* visit(part);
    for (const [field, own] of Object.entries(isJsonObject(properties ?? null) ? (properties as JsonObject) : {})) {
      if (isLong()) yield;
      const isField = isFieldName(field);
      const before = fields.get(field);
      if (!isField || before !== undefined) moved.add(field);
      // Many settings files name their schema so, for editors.
      if (!isField && field !== "$schema") leftOut.add(field);
      if (!isField) continue;
      const ours = own === true ? {} : own;
      if (before === undefined) fields.set(field, ours);
      else {
        const allOf = [rulesIn(before), rulesIn(ours)];
        fields.set(field, standingFor({ ...annotationsOf(before), ...annotationsOf(ours), allOf }, ours));
      }
    }
    if (Array.isArray(names)) for (const name of names) if (typeof name === "string") required.add(name);
    for (const rule of rulesOfAll) if (Object.hasOwn(rest, rule)) ignored.add(rule);
    if (isJsonObject(additionalProperties ?? null)) ignored.add("additionalProperties");
  }
  yield* visit(root);
  if (fields.size === 0 && !isJsonObject(root["properties"] ?? null)) return undefined;

  const unset = new Set<string>();
  const notes = [...ignored].map(rule => `${rule} is a rule for all fields together, which is not checked`);
  for (const name of leftOut) notes.push(`${JSON.stringify(name)} cannot be the name of a field, so it is left out`);
  for (const [name, field] of fields) {
    if (isLong()) yield;
    if (!isJsonObject(field) || field["default"] !== undefined) continue;
    const found = defaultBehind(root, field);
    if (found === undefined) unset.add(name);
    const isRequired = found === undefined && required.has(name);
    const ours = { ...field, default: found ?? null, ...(isRequired && { "x-required": true }) };
    fields.set(name, standingFor(ours, field));
  }
  for (const name of required)
    if (!fields.has(name) && !leftOut.has(name)) notes.push(`it requires "${name}", which is not a field`);
  const file = seen.size > 1 ? ((yield* withoutFieldKeywords(seen, isLong)(root)) as JsonObject) : root;
  const { $ref: _, allOf, ...others } = file;
  // An empty list is no list of schemas, which the check of the scope says.
  const rest = Array.isArray(allOf) && allOf.length > 0 ? others : { ...others, ...(allOf !== undefined && { allOf }) };
  // Its fields were collected above; their own schemas are checked one by one.
  const properties = Object.fromEntries(fields);
  const ours = { type: "object", properties, ...([...seen].some(masksAll) && { "x-masked": true }) };
  const whole = standingFor({ ...rest, ...ours }, root);
  const isMoved = (reference: string) => {
    const [keyword, name] = tokensOf(reference);
    if (keyword === undefined) return moved.size > 0 || seen.size > 1;
    return keyword === "allOf" || (keyword === "properties" && name !== undefined && moved.has(name));
  };
  function* original() {
    return (yield* withoutFieldKeywords(new Set([...seen, root]), isLong)(root)) as JsonObject;
  }
  const schema = moved.size + seen.size > 1 ? yield* keepingReferences(whole, original, isMoved) : whole;
  return {
    schema: schema as unknown as ScopeSchema,
    unset,
    required: [...required].filter(name => unset.has(name)),
    notes,
  };
}

/** Whether a part at the root is masked as a whole, or by a rule for all fields together: then each field is. */
function masksAll(part: JsonValue): boolean {
  if (!isJsonObject(part)) return false;
  const rules = rulesOfAll.map(rule => part[rule] ?? null);
  return part["x-masked"] === true || rules.some(rule => JSON.stringify(rule).includes('"x-masked":true'));
}

/** The default of what a field's `$ref` leads to: many published schemas have it only there. */
function defaultBehind(root: JsonObject, field: JsonObject): JsonValue | undefined {
  const seen = new Set<JsonValue>();
  let schema: JsonValue | undefined = field;
  while (schema !== undefined && isJsonObject(schema) && !seen.has(schema)) {
    seen.add(schema);
    const { default: found, $ref }: JsonObject = schema;
    if (found !== undefined) return found;
    schema = typeof $ref === "string" ? pointedTo(root, $ref) : undefined;
  }
  return undefined;
}

/**
 * Returns copies in which the properties of `schemas` have no keywords about whole fields: there, they would count for any value.
 * `isLong`: whether it is time to yield.
 */
function withoutFieldKeywords(schemas: ReadonlySet<JsonValue>, isLong: () => boolean): SubschemaMaker {
  return function* copy(schema) {
    if (!isJsonObject(schema)) return schema;
    if (isLong()) yield;
    const made = standingFor(yield* mappingSubschemas(schema, copy), schema);
    const { properties } = made;
    if (!schemas.has(schema) || !isJsonObject(properties ?? null)) return made;
    const own = Object.entries(properties as JsonObject).map(([field, one]) => [
      field,
      isJsonObject(one) ? standingFor(filtered(one, isForAnyValue), one) : one,
    ]);
    return standingFor({ ...made, properties: Object.fromEntries(own) }, schema);
  };
}

const isForAnyValue = (keyword: string) => !(fieldKeywords as readonly string[]).includes(keyword);
const annotation = new RegExp(
  `^(?:title|description|default|examples|deprecated|readOnly|x-.*|${fieldKeywords.join("|")})$`,
);

function annotationsOf(schema: JsonValue): JsonObject {
  return filtered(schema, keyword => annotation.test(keyword));
}

/** Without what is about a whole field and has no effect inside of an `allOf`. */
function rulesIn(schema: JsonValue): JsonObject {
  return standingFor(
    filtered(schema, keyword => !annotation.test(keyword)),
    schema,
  );
}

function filtered(schema: JsonValue, keeps: (keyword: string) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(isJsonObject(schema) ? schema : {}).filter(([keyword]) => keeps(keyword)));
}
