import { type Config, configValue } from "../../shared/config.ts";
import { type ConfigPath, isFieldName, isScopeName, joinConfigPath } from "../../shared/config-path.ts";
import { isJsonObject, type JsonObject, type JsonValue, jsonType } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import { runToEnd } from "../../shared/run-to-end.ts";
import {
  type CompiledSchema,
  type PatternMaker,
  SchemaCompiler,
  SchemaError,
} from "../../shared/schema/compile-schema.ts";
import { nativePattern } from "../../shared/schema/native-pattern.ts";
import { patternsOf } from "../../shared/schema/patterns-in.ts";
import { SchemaResources, schemasAtOnce } from "../../shared/schema/schema-resources.ts";
import type { SchemaProblem, TextPattern } from "../../shared/schema/schema-walk.ts";
import { OutOfStepsError, SpareSteps } from "../../shared/schema/step-budget.ts";
import { markingMasks } from "../../shared/scopes/masks.ts";
import { type FieldSchema, runsAsCommand, type ScopeSchema } from "../../shared/scopes/scope-schema.ts";
import { svcSchema } from "../../shared/scopes/svc.ts";
import { shortened } from "../../shared/shortened.ts";
import { joinPointer, valueAt } from "../../shared/value-edit.ts";
import { metaSchemas } from "./meta-schema.ts";
import { describeSchemaError } from "./schema-messages.ts";

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
  /** As in the file, and with `x-masked` wherever something masked is behind a reference or a choice. */
  readonly schema: FieldSchema;
  /** Its value runs as a command (`x-command`, `x-env`). */
  readonly isCommand: boolean;
  /** `spare`: what the checks of one file or request may cost together; without it those of this one value. */
  validate(value: JsonValue, spare?: SpareSteps): ValueProblem | undefined;
}

export interface Scope {
  readonly name: string;
  readonly schema: ScopeSchema;
  readonly fields: ReadonlyMap<string, Field>;
  /** The fields whose value is a key of another one, and that one (`x-keyOf`). */
  readonly references: ReadonlyMap<string, string>;
  /** Names that fields had before, and what those are called now (`x-renamedFrom`). */
  readonly renamed: ReadonlyMap<string, string>;
  /** Every name of each field that had others before, the one of now first. */
  readonly names: ReadonlyMap<string, readonly ConfigPath[]>;
}

/** The stored value of a field; undefined if there is none. */
export type StoredValue = (scope: string, field: string) => JsonValue | undefined;

/** A schema that cannot be used; `message` says why. */
export class ScopeSchemaError extends Error {
  override readonly name = "ScopeSchemaError";

  constructor(message: string) {
    super(shortened(message, limits.shownMessage));
  }
}

/** Every scope in use and its rules: which fields exist, what they may hold, what they are when nothing is stored. */
export class Scopes {
  readonly #scopes = new Map<string, Scope>();
  #defaults: Config = {};
  #renaming: readonly Scope[] = [];

  constructor() {
    this.set(compileScope("svc", svcSchema));
  }

  set(scope: Scope): void {
    this.#scopes.set(scope.name, scope);
    this.#collect();
  }

  delete(name: string): void {
    this.#scopes.delete(name);
    this.#collect();
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

  /** Those whose fields had other names before. */
  get renaming(): readonly Scope[] {
    return this.#renaming;
  }

  /** What a field that had this name before is called now; undefined if none had it. */
  newName(scope: string, field: string): string | undefined {
    return this.#scopes.get(scope)?.renamed.get(field);
  }

  /** Every name of a field, the one of now first; `path` may have any of them. */
  namesOf({ scope, field }: ConfigPath): readonly ConfigPath[] {
    const known = this.#scopes.get(scope);
    return known?.names.get(known.renamed.get(field) ?? field) ?? [{ scope, field }];
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

  /** Whether one field names such a key. */
  isBrokenReference(scope: string, field: string, stored: StoredValue): boolean {
    const known = this.#scopes.get(scope);
    const target = known?.references.get(field);
    return known !== undefined && target !== undefined && brokenReference(known, field, target, stored) !== undefined;
  }

  #collect(): void {
    this.#defaults = this.#collectDefaults();
    this.#renaming = [...this.#scopes.values()].filter(({ renamed }) => renamed.size > 0);
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
 * valid, or a `$ref` leads outside. `makePattern`: the program's own patterns are the engine's; those of others need one that takes
 * no longer than the text is long (linear-pattern.ts).
 */
export function compileScope(name: string, schema: unknown, makePattern: PatternMaker = nativePattern): Scope {
  return runToEnd(compilingScope(name, schema, makePattern));
}

/** As `compileScope`; yields now and then. */
export function* compilingScope(name: string, schema: unknown, makePattern: PatternMaker): Generator<void, Scope> {
  if (!isScopeName(name)) throw new ScopeSchemaError(`"${name}" is not a valid scope name`);
  if (!isScopeSchema(schema)) throw new ScopeSchemaError(`it is not a schema with "type": "object" and "properties"`);
  // An object of JSON, as its shape has told.
  const json = schema as unknown as JsonObject;
  const resources = yield* SchemaResources.reading(json);
  const patterns = new Map<string, () => TextPattern>();
  const patternOf = (source: string) => {
    const pattern = patterns.get(source) ?? attempt(makePattern, source);
    patterns.set(source, pattern);
    return pattern;
  };
  let read = 0;
  for (const one of resources.schemas) {
    read += 1;
    if (read % schemasAtOnce === 0) yield;
    assertStaysInside(one);
    for (const source of patternsOf(one)) {
      if (patterns.has(source)) continue;
      if (patterns.size >= limits.patternsOfScope)
        throw new ScopeSchemaError(`it has more than ${limits.patternsOfScope} patterns`);
      yield;
      patternOf(source);
    }
  }
  yield;
  assertIsSchema(metaSchemas.scope, json, new SpareSteps());
  const compiler = new SchemaCompiler(resources, source => patternOf(source)());
  yield;
  const spare = new SpareSteps();
  const fields = new Map<string, Field>();
  const marked = yield* markingMasks(schema, resources);
  for (const [field, fieldSchema] of Object.entries(schema.properties)) {
    const compiled = yield* compilingField(compiler, field, fieldSchema, spare);
    fields.set(field, { ...compiled, schema: marked[field] ?? fieldSchema });
  }
  const references = new Map<string, string>();
  for (const [field, { schema: fieldSchema }] of fields) {
    const target = fieldSchema["x-keyOf"];
    if (target === undefined) continue;
    if (!fields.has(target)) {
      throw new ScopeSchemaError(`the field "${field}" refers to "${target}", which is not a field of the scope`);
    }
    references.set(field, target);
  }
  const renamed = renamedFields(fields);
  const names = new Map([...new Set(renamed.values())].map(field => [field, [{ scope: name, field }]]));
  for (const [old, field] of renamed) names.get(field)?.push({ scope: name, field: old });
  const scope = { name, schema, fields, references, renamed, names };
  const [broken] = brokenReferencesIn(scope, () => undefined);
  if (broken !== undefined) {
    throw new ScopeSchemaError(`the default of "${broken.field}" is not a key of the default of "${broken.target}"`);
  }
  return scope;
}

/** Old names and what they are called now. Throws ScopeSchemaError if that leaves open which field an old name means. */
function renamedFields(fields: ReadonlyMap<string, Field>): ReadonlyMap<string, string> {
  const renamed = new Map<string, string>();
  for (const [field, { schema }] of fields) {
    for (const old of [schema["x-renamedFrom"] ?? []].flat()) {
      const rule = `"x-renamedFrom" of the field "${field}"`;
      if (!isFieldName(old)) throw new ScopeSchemaError(`${rule}: "${old}" is not a valid field name`);
      if (fields.has(old)) throw new ScopeSchemaError(`${rule}: "${old}" is a field of the scope`);
      const other = renamed.get(old);
      if (other !== undefined) throw new ScopeSchemaError(`${rule}: "${old}" is already an old name of "${other}"`);
      renamed.set(old, field);
    }
  }
  return renamed;
}

function brokenReferencesIn(scope: Scope, stored: StoredValue): BrokenReference[] {
  return [...scope.references].flatMap(([field, target]) => brokenReference(scope, field, target, stored) ?? []);
}

function brokenReference(
  scope: Scope,
  field: string,
  target: string,
  stored: StoredValue,
): BrokenReference | undefined {
  const effective = (name: string) => {
    const value = stored(scope.name, name);
    return value === undefined ? scope.fields.get(name)?.schema.default : value;
  };
  const value = effective(field);
  if (typeof value !== "string" || value === "") return undefined;
  const keys = effective(target);
  const isThere = isJsonObject(keys) && Object.hasOwn(keys, value);
  return isThere ? undefined : { scope: scope.name, field, target, value };
}

/** What makes the pattern, or throws what came of it: it may be none that is ever asked for. */
function attempt(makePattern: PatternMaker, source: string): () => TextPattern {
  try {
    const pattern = makePattern(source);
    return () => pattern;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** Throws ScopeSchemaError if a reference does not begin with "#". */
function assertStaysInside({ $ref, $dynamicRef }: JsonObject): void {
  for (const reference of [$ref, $dynamicRef])
    if (typeof reference === "string" && !reference.startsWith("#"))
      throw new ScopeSchemaError(`its $ref "${reference}" points outside the file`);
}

/** Throws ScopeSchemaError if a rule has what it cannot have. */
function assertIsSchema(metaSchema: CompiledSchema, schema: JsonValue, spare: SpareSteps, where = ""): void {
  const problem = checkValue(metaSchema, schema, spare);
  if (problem === undefined) return;
  const keyword = problem.path.split("/").at(-1);
  if (problem.rule === "false")
    throw new ScopeSchemaError(
      `${where}${keyword} at ${problem.path} has no effect there: put it directly into the field's own schema`,
    );
  throw new ScopeSchemaError(`${where}${keyword} ${problem.message}`);
}

function isScopeSchema(schema: unknown): schema is ScopeSchema {
  return isJsonObject(schema) && schema["type"] === "object" && isJsonObject(schema["properties"]);
}

function* compilingField(
  compiler: SchemaCompiler,
  name: string,
  schema: FieldSchema,
  spare: SpareSteps,
): Generator<void, Field> {
  if (!isFieldName(name)) throw new ScopeSchemaError(`"${name}" is not a valid field name`);
  if (!isJsonObject(schema)) throw new ScopeSchemaError(`the field "${name}" has no schema`);
  if (schema.default === undefined) throw new ScopeSchemaError(`the field "${name}" has no default`);
  // A slip of the pen must not open what it was to close.
  if (typeof (schema["x-command"] ?? false) !== "boolean")
    throw new ScopeSchemaError(`"x-command" of the field "${name}" must be true or false`);
  // One may be as large as the file.
  yield;
  assertIsSchema(metaSchemas.field, schema, spare, `the field "${name}": `);
  yield;
  let compiled: CompiledSchema;
  try {
    compiled = yield* compiler.compiling(schema);
  } catch (error) {
    if (error instanceof SchemaError) throw new ScopeSchemaError(`the field "${name}": ${error.message}`);
    throw error;
  }
  const validate = cachingResults((value, spareSteps) => checkValue(compiled, value, spareSteps));
  yield;
  const problem = validate(schema.default, spare);
  if (problem !== undefined)
    throw new ScopeSchemaError(`the default of "${name}" does not match its own schema: it ${problem.message}`);
  return { schema, isCommand: runsAsCommand(schema), validate };
}

type ValueCheck = (value: JsonValue, spare: SpareSteps) => ValueProblem | undefined;

/** The values of a file are asked about at each set beside them. No value ever changes: the same one has the same verdict. */
function cachingResults(check: ValueCheck): Field["validate"] {
  const results = new WeakMap<object, { readonly problem: ValueProblem | undefined; readonly spare: number }>();
  return (value, spare = new SpareSteps()) => {
    if (typeof value !== "object" || value === null) return check(value, spare);
    const known = results.get(value);
    // With more steps left it may be another one.
    if (known !== undefined && (known.problem?.rule !== "steps" || spare.left <= known.spare)) return known.problem;
    const before = spare.left;
    const problem = check(value, spare);
    results.set(value, { problem, spare: before });
    return problem;
  };
}

function checkValue(schema: CompiledSchema, value: JsonValue, spare: SpareSteps): ValueProblem | undefined {
  const member = findPrototypeMember(value);
  if (member !== undefined) {
    return { message: "must not have a member called __proto__", path: member, rule: "__proto__", given: "object" };
  }
  try {
    const [problem] = schema.check(value, spare).problems;
    return problem && refusalOf(value, problem);
  } catch (error) {
    if (!(error instanceof OutOfStepsError)) throw error;
    const message = "takes too many steps to check; make the value smaller or the schema simpler";
    return { message, path: "", rule: "steps", given: jsonType(value) };
  }
}

/** JSON pointer of the first object that has an own member called `__proto__`; undefined if there is none. Depth is bounded by the caller. */
function findPrototypeMember(value: JsonValue): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Object.hasOwn(value, "__proto__")) return "";
  // Nothing is made of the many that have none.
  if (!isJsonObject(value)) {
    for (let index = 0; index < value.length; index++) {
      const found = findPrototypeMember(value[index] ?? null);
      if (found !== undefined) return `/${index}${found}`;
    }
    return undefined;
  }
  for (const member of Object.keys(value)) {
    const found = findPrototypeMember(value[member] ?? null);
    if (found !== undefined) return `/${member}${found}`;
  }
  return undefined;
}

/** Without what nobody reads of long names. */
function shortenedPointer(pointer: string): string {
  return pointer
    .split("/")
    .map(part => shortened(part, limits.shownPart))
    .join("/");
}

/** Its message is made when it is asked for: of thousands of refused values a hundred are told. */
function refusalOf(value: JsonValue, problem: SchemaProblem): ValueProblem {
  const { path, keyword } = problem;
  const pointer = joinPointer(path.map(String));
  return {
    get message() {
      const place = pointer === "" ? "" : `at ${shortenedPointer(pointer)} `;
      const problemThere = describeSchemaError({ ...problem, instancePath: pointer }, value);
      return shortened(`${place}${problemThere}`, limits.shownMessage);
    },
    path: pointer,
    rule: keyword,
    get given() {
      return jsonType(valueAt(value, pointer));
    },
  };
}
