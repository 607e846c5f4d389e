import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { type Config, configValue } from "../../shared/config.ts";
import { isFieldName, isScopeName, joinConfigPath } from "../../shared/config-path.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";
import type { FieldSchema, ScopeSchema } from "../../shared/scopes/scope-schema.ts";
import { svcSchema } from "../../shared/scopes/svc.ts";
import { describeSchemaError, jsonType, valueAt } from "./schema-messages.ts";

/** Why a value is refused: where in the value, by which rule of the schema, and what was given. */
interface ValueProblem {
  readonly message: string;
  /** JSON pointer into the value; "" is the value itself. */
  readonly path: string;
  /** The schema's keyword that refused it, such as "maximum". */
  readonly rule: string;
  /** JSON type of what was given there. */
  readonly given: string;
}

/** A field that refers to a key of another one which is not there. */
export interface BrokenReference {
  readonly scope: string;
  readonly field: string;
  readonly target: string;
  readonly value: string;
}

interface Field {
  readonly schema: FieldSchema;
  /** Its value runs as a command (`x-command`). */
  readonly isCommand: boolean;
  validate(value: JsonValue): ValueProblem | undefined;
}

export interface Scope {
  readonly name: string;
  readonly schema: ScopeSchema;
  readonly fields: ReadonlyMap<string, Field>;
  /** The fields whose value is a key of another one, and that one (`x-keyOf`). */
  readonly references: ReadonlyMap<string, string>;
}

/** The stored value of a field; undefined if there is none. */
export type StoredValue = (scope: string, field: string) => JsonValue | undefined;

/** A schema that cannot be used; `message` says why. */
export class ScopeSchemaError extends Error {
  override readonly name = "ScopeSchemaError";
}

/** Every scope in use and its rules: which fields exist, what they may hold, what they are when nothing is stored. */
export class Scopes {
  readonly #scopes = new Map<string, Scope>();
  #defaults: Config = {};

  constructor() {
    this.set(compileScope("svc", svcSchema, true));
  }

  set(scope: Scope): void {
    this.#scopes.set(scope.name, scope);
    this.#defaults = this.#collectDefaults();
  }

  delete(name: string): void {
    this.#scopes.delete(name);
    this.#defaults = this.#collectDefaults();
  }

  get(name: string): Scope | undefined {
    return this.#scopes.get(name);
  }

  all(): Iterable<Scope> {
    return this.#scopes.values();
  }

  /** Every field's default. A new object whenever a scope comes, goes or changes: what is derived from it is keyed by it. */
  get defaults(): Config {
    return this.#defaults;
  }

  field(scope: string, field: string): Field | undefined {
    return this.#scopes.get(scope)?.fields.get(field);
  }

  /** Whether a field's value runs as a command. */
  isCommand(scope: string, field: string): boolean {
    return this.field(scope, field)?.isCommand === true;
  }

  /** `<scope>.<field>` of every field there is. */
  *paths(): Generator<string> {
    for (const scope of this.#scopes.values()) {
      for (const field of scope.fields.keys()) yield joinConfigPath(scope.name, field);
    }
  }

  /** The effective values: stored, else the default; complete, in the order of the schemas. */
  effective(stored: Config): Config {
    const result: { [scope: string]: { [field: string]: JsonValue } } = {};
    for (const [scope, defaults] of Object.entries(this.#defaults)) {
      const fields: { [field: string]: JsonValue } = {};
      for (const [field, value] of Object.entries(defaults)) {
        const own = configValue(stored, scope, field);
        // A stored null is a value like any other.
        fields[field] = own === undefined ? value : own;
      }
      result[scope] = fields;
    }
    return result;
  }

  /** The fields that name a key of another field which has no such key (`x-keyOf`). */
  brokenReferences(stored: StoredValue): BrokenReference[] {
    return [...this.#scopes.values()].flatMap(scope => brokenReferencesIn(scope, stored));
  }

  #collectDefaults(): Config {
    const defaults: { [scope: string]: { [field: string]: JsonValue } } = {};
    for (const scope of this.#scopes.values()) {
      const fields: { [field: string]: JsonValue } = {};
      for (const [name, { schema }] of scope.fields) fields[name] = schema.default;
      defaults[scope.name] = fields;
    }
    return defaults;
  }
}

/**
 * Makes a scope of a JSON Schema (2020-12). Throws ScopeSchemaError if it is none, a field's name or default is not
 * valid, or a `$ref` leads outside. `isOwn`: a part of the program, see own-schemas.ts.
 */
export function compileScope(name: string, schema: unknown, isOwn = false): Scope {
  if (!isScopeName(name)) throw new ScopeSchemaError(`"${name}" cannot be a scope's name`);
  if (!isScopeSchema(schema)) throw new ScopeSchemaError(`it is not a schema with "type": "object" and "properties"`);
  const outside = findOutsideReference(schema);
  if (outside !== undefined) throw new ScopeSchemaError(`its $ref "${outside}" leads outside of the file`);
  const ajv = new Ajv2020({
    strict: false,
    strictNumbers: true,
    validateFormats: false,
    logger: false,
    allErrors: false,
    addUsedSchema: false,
    validateSchema: !isOwn,
    // With what stands beside a rule, such as its description.
    verbose: true,
  });
  ajv.addKeyword({
    keyword: "uniqueItemProperties",
    type: "array",
    schemaType: "array",
    validate: haveUniqueProperties,
  });
  try {
    // Under a name of ours: an `$id` in the file must not become an address that others could be resolved by.
    const { $id: _, ...unnamed } = schema;
    ajv.addSchema(unnamed, "scope:");
  } catch (error) {
    throw new ScopeSchemaError(`it is not a valid JSON Schema: ${messageOf(error)}`);
  }
  const fields = new Map<string, Field>();
  for (const [field, fieldSchema] of Object.entries(schema.properties)) {
    fields.set(field, compileField(ajv, field, fieldSchema, isOwn));
  }
  const references = new Map<string, string>();
  for (const [field, { schema: fieldSchema }] of fields) {
    const target = fieldSchema["x-keyOf"];
    if (target === undefined) continue;
    if (!fields.has(target)) {
      throw new ScopeSchemaError(`the field "${field}" refers to "${target}", which is no field of the scope`);
    }
    references.set(field, target);
  }
  const scope = { name, schema, fields, references };
  const [broken] = brokenReferencesIn(scope, () => undefined);
  if (broken !== undefined) {
    throw new ScopeSchemaError(`the default of "${broken.field}" is no key of the default of "${broken.target}"`);
  }
  return scope;
}

function brokenReferencesIn(scope: Scope, stored: StoredValue): BrokenReference[] {
  const broken: BrokenReference[] = [];
  const effective = (field: string) => {
    const value = stored(scope.name, field);
    return value === undefined ? scope.fields.get(field)?.schema.default : value;
  };
  for (const [field, target] of scope.references) {
    const value = effective(field);
    if (typeof value !== "string" || value === "") continue;
    const keys = effective(target);
    if (!isJsonObject(keys) || !Object.hasOwn(keys, value)) broken.push({ scope: scope.name, field, target, value });
  }
  return broken;
}

/** The first `$ref` that does not begin with "#". Ajv would find the targets of some of them in itself. */
function findOutsideReference(schema: unknown): string | undefined {
  if (typeof schema !== "object" || schema === null) return undefined;
  for (const [keyword, inner] of Object.entries(schema)) {
    const isReference = (keyword === "$ref" || keyword === "$dynamicRef") && typeof inner === "string";
    const found = isReference ? (inner.startsWith("#") ? undefined : inner) : findOutsideReference(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isScopeSchema(schema: unknown): schema is ScopeSchema {
  return isJsonObject(schema) && schema["type"] === "object" && isJsonObject(schema["properties"]);
}

function compileField(ajv: Ajv2020, name: string, schema: FieldSchema, isOwn: boolean): Field {
  if (!isFieldName(name)) throw new ScopeSchemaError(`"${name}" cannot be a field's name`);
  if (!isJsonObject(schema)) throw new ScopeSchemaError(`the field "${name}" has no schema`);
  if (schema.default === undefined) throw new ScopeSchemaError(`the field "${name}" has no default`);
  let compiled: ValidateFunction | undefined;
  const validate = (value: JsonValue): ValueProblem | undefined => {
    const member = findPrototypeMember(value);
    if (member !== undefined) {
      return { message: "may not have a member called __proto__", path: member, rule: "__proto__", given: "object" };
    }
    compiled ??= hasReference(schema) ? compilePointer(ajv, name) : ajv.compile(withoutDialect(schema));
    if (compiled(value)) return undefined;
    return refusalOf(value, compiled.errors?.[0]);
  };
  const isCommand = schema["x-command"] ?? false;
  // A slip of the pen must not open what it was to close.
  if (typeof isCommand !== "boolean")
    throw new ScopeSchemaError(`"x-command" of the field "${name}" must be true or false`);
  // What is a part of the program is right, and is compiled when it is first needed: each start would wait for it.
  if (isOwn) return { schema, isCommand, validate };
  try {
    const problem = validate(schema.default);
    if (problem !== undefined)
      throw new ScopeSchemaError(`the default of "${name}" is refused by its own schema: it ${problem.message}`);
  } catch (error) {
    if (error instanceof ScopeSchemaError) throw error;
    throw new ScopeSchemaError(`the field "${name}": ${messageOf(error)}`);
  }
  return { schema, isCommand, validate };
}

/** Whether a schema needs what stands around it. Where none does, Ajv need not compile a scope of thousands of fields in one piece. */
function hasReference(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  return "$ref" in schema || "$dynamicRef" in schema || Object.values(schema).some(hasReference);
}

/** A field's own `$schema` never counted: all of a scope is of one dialect. */
function withoutDialect({ $schema: _, ...schema }: FieldSchema & { readonly $schema?: unknown }): object {
  return schema;
}

function compilePointer(ajv: Ajv2020, field: string): ValidateFunction {
  const compiled = ajv.getSchema(`scope:#/properties/${field}`);
  if (compiled === undefined) throw new ScopeSchemaError(`the field "${field}" cannot be compiled`);
  return compiled;
}

/** The keyword `uniqueItemProperties: ["name"]`: no two items of an array have the same value there. As ajv-keywords has it. */
function haveUniqueProperties(properties: readonly string[], items: readonly unknown[]): boolean {
  return properties.every(property => {
    const values = items.filter(isJsonObject).map(item => JSON.stringify(item[property]));
    return new Set(values).size === values.length;
  });
}

/** JSON pointer of the first object that has an own member called `__proto__`; undefined if there is none. Depth is bounded by the caller. */
function findPrototypeMember(value: JsonValue, path = ""): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Object.hasOwn(value, "__proto__")) return path;
  for (const [member, inner] of Object.entries(value as JsonObject)) {
    const found = findPrototypeMember(inner, `${path}/${member}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function refusalOf(value: JsonValue, error: ErrorObject | undefined): ValueProblem {
  if (error === undefined)
    return { message: "is refused by its schema", path: "", rule: "schema", given: jsonType(value) };
  const { instancePath, keyword } = error;
  const place = instancePath === "" ? "" : `at ${instancePath} `;
  return {
    message: `${place}${describeSchemaError(error, value)}`,
    path: instancePath,
    rule: keyword,
    given: jsonType(valueAt(value, instancePath)),
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
