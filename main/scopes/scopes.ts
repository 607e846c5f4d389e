import { type Config, configValue } from "../../shared/config.ts";
import { type ConfigPath, isFieldName, isScopeName, joinConfigPath } from "../../shared/config-path.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import { runToEnd } from "../../shared/run-to-end.ts";
import { type PatternMaker, SchemaCompiler } from "../../shared/schema/compile-schema.ts";
import { endlessReferences } from "../../shared/schema/endless-references.ts";
import { formats } from "../../shared/schema/formats.ts";
import { patternOrUnchecked, whyUnchecked } from "../../shared/schema/linear-pattern.ts";
import { schemaPace } from "../../shared/schema/schema-pace.ts";
import { SchemaResources } from "../../shared/schema/schema-resources.ts";
import type { TextPattern } from "../../shared/schema/schema-walk.ts";
import { SpareSteps } from "../../shared/schema/step-budget.ts";
import { markingMasks, masksAnything } from "../../shared/scopes/masks.ts";
import type { ScopeSchema } from "../../shared/scopes/scope-schema.ts";
import { svcSchema } from "../../shared/scopes/svc.ts";
import { shortened } from "../../shared/shortened.ts";
import { compilingField, type Field, metaFaults } from "./compile-field.ts";
import { IgnoredKeywords } from "./ignored-keywords.ts";
import { metaSchemas } from "./meta-schema.ts";
import { mostFaults, type SchemaFault, ScopeSchemaError, sourceOf } from "./schema-faults.ts";
import { collectingFields } from "./scope-fields.ts";
import { translatingSchema } from "./translate-schema.ts";

/** A field that refers to a missing key of another field. */
export interface BrokenReference {
  readonly scope: string;
  readonly field: string;
  readonly target: string;
  readonly value: string;
  /** The value in quotes as messages name it, unless it is masked: people and keys that may not see it read them, too. */
  readonly shown: string;
}

/** A field whose value in a linked worktree is `step` higher for each number of its slot (`x-step`), unless the worktree has its own. */
export interface FieldStep extends ConfigPath {
  readonly step: number;
}

export interface Scope {
  readonly name: string;
  readonly schema: ScopeSchema;
  readonly fields: ReadonlyMap<string, Field>;
  /** The fields whose value is a key of another field, with that field (`x-keyOf`). */
  readonly references: ReadonlyMap<string, string>;
  /** The old names of fields, with the current ones (`x-renamedFrom`). */
  readonly renamed: ReadonlyMap<string, string>;
  /** All names of each renamed field, the current one first. */
  readonly names: ReadonlyMap<string, readonly ConfigPath[]>;
  /** The fields without a default: theirs is null, "not set", whatever their type is. */
  readonly unset: ReadonlySet<string>;
  /** The fields that a repository should set: those of `unset` in `required`. */
  readonly required: readonly string[];
  /** What of its schema has no effect, one sentence for each. */
  readonly notes: readonly string[];
}

/** The stored value of a field; undefined if there is none. */
export type StoredValue = (scope: string, field: string) => JsonValue | undefined;

/** Compiled when first needed. */
let svc: Scope | undefined;

/** All scopes and their rules: which fields exist, which values they may have, and their defaults. */
export class Scopes {
  readonly #scopes = new Map<string, Scope>();
  #defaults: Config = {};
  #renaming: readonly Scope[] = [];
  #commands: readonly ConfigPath[] = [];
  #steps: readonly FieldStep[] = [];

  constructor() {
    svc ??= compileScope("svc", svcSchema);
    this.set(svc);
  }

  /** A copy in which `scope` replaces the scope of its name. */
  with(scope: Scope): Scopes {
    const copy = new Scopes();
    for (const one of this.#scopes.values()) copy.set(one);
    copy.set(scope);
    return copy;
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

  /** Every field's default. A new object whenever a scope is added, removed or changed, so caches use it as their key. */
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

  /** The fields whose values run as commands. */
  get commands(): readonly ConfigPath[] {
    return this.#commands;
  }

  /** The fields whose values are higher in linked worktrees. */
  get steps(): readonly FieldStep[] {
    return this.#steps;
  }

  /** The scopes with renamed fields. */
  get renaming(): readonly Scope[] {
    return this.#renaming;
  }

  /** The current name of the field that once had this name; undefined if there is none. */
  newName(scope: string, field: string): string | undefined {
    return this.#scopes.get(scope)?.renamed.get(field);
  }

  /** All names of a field, the current one first; `path` may have any of them. */
  namesOf({ scope, field }: ConfigPath): readonly ConfigPath[] {
    const known = this.#scopes.get(scope);
    return known?.names.get(known.renamed.get(field) ?? field) ?? [{ scope, field }];
  }

  /** `<scope>.<field>` of every field. */
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

  /** The fields that refer to a missing key of another field (`x-keyOf`). */
  brokenReferences(stored: StoredValue): BrokenReference[] {
    return [...this.#scopes.values()].flatMap(scope => brokenReferencesIn(scope, stored));
  }

  /** The field whose key a field's value is (`x-keyOf`), and those whose values are keys of it. */
  tiedTo(scope: string, field: string): readonly ConfigPath[] {
    const references = [...(this.#scopes.get(scope)?.references ?? [])];
    return references.flatMap(([from, target]) =>
      from === field ? { scope, field: target } : target === field ? { scope, field: from } : [],
    );
  }

  /** Whether one field refers to such a key. */
  isBrokenReference(scope: string, field: string, stored: StoredValue): boolean {
    const known = this.#scopes.get(scope);
    const target = known?.references.get(field);
    return known !== undefined && target !== undefined && brokenReference(known, field, target, stored) !== undefined;
  }

  #collect(): void {
    this.#defaults = this.#collectDefaults();
    this.#renaming = [...this.#scopes.values()].filter(({ renamed }) => renamed.size > 0);
    const all = [...this.#scopes.values()].flatMap(({ name: scope, fields }) =>
      [...fields].map(([field, known]) => ({ scope, field, known })),
    );
    this.#commands = all.flatMap(({ known, ...path }) => (known.isCommand ? path : []));
    this.#steps = all.flatMap(({ known, ...path }) => {
      const step = known.schema["x-step"];
      return step === undefined ? [] : { ...path, step };
    });
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
 * Makes a scope from a JSON Schema of any draft from draft-04 on. Throws ScopeSchemaError, with all problems, if it is not one, if a
 * field's name or default is invalid, or if a `$ref` points outside.
 */
export function compileScope(name: string, schema: unknown, makePattern?: PatternMaker): Scope {
  return runToEnd(compilingScope(name, schema, makePattern));
}

/** Like `compileScope`, but yields from time to time. */
export function* compilingScope(
  name: string,
  source: unknown,
  makePattern: PatternMaker = patternOrUnchecked,
): Generator<void, Scope> {
  if (!isScopeName(name)) throw new ScopeSchemaError(`"${name}" is not a valid scope name`);
  if (!isJsonObject(source)) throw new ScopeSchemaError(noFields);
  const { schema: root, faults: ofTranslation } = yield* translatingSchema(source);
  yield;
  // All at once, so that a person who brings a schema corrects it once.
  const faults = [...ofTranslation];
  const collected = yield* collectingFields(root);
  const isObject = [root["type"] ?? "object"].flat().includes("object");
  // Of a draft that is not known, nothing else can be said.
  if (collected === undefined || !isObject || faults.some(({ pointer }) => pointer === "/$schema"))
    throw new ScopeSchemaError(...(faults.length > 0 ? faults : [noFields]));
  const { schema, unset, required } = collected;
  const json = schema as unknown as JsonObject;
  yield;
  const resources = yield* SchemaResources.reading(json);
  for (const one of yield* endlessReferences(resources))
    faults.push({
      message: `its $ref "${one["$ref"]}" leads back to itself before it reaches a part of the value: no check would end`,
      pointer: sourceOf(one, ["$ref"]),
    });
  const patterns = new Map<string, () => TextPattern>();
  const patternOf = (source: string) => {
    const pattern = patterns.get(source) ?? attempt(makePattern, source);
    patterns.set(source, pattern);
    return pattern;
  };
  const notes = [...collected.notes];
  const ignored = new IgnoredKeywords();
  const isLong = schemaPace();
  let hasFormats = false;
  for (const one of resources.schemas) {
    if (isLong()) yield;
    ignored.add(one);
    hasFormats ||= typeof one["format"] === "string" && formats.has(one["format"]);
    for (const source of patternsOf(one)) {
      if (patterns.has(source)) continue;
      if (patterns.size >= limits.patternsOfScope)
        throw new ScopeSchemaError(`it has more than ${limits.patternsOfScope} patterns`);
      yield;
      const why = unchecked(patternOf(source));
      if (why !== undefined) notes.push(`the pattern ${shortened(source, limits.shownName)} is not checked: ${why}`);
    }
  }
  notes.push(...ignored.notes);
  yield;
  faults.push(...metaFaults(metaSchemas.scope, json, new SpareSteps()));
  const compiler = new SchemaCompiler(resources, source => patternOf(source)());
  yield;
  const spare = new SpareSteps();
  const fields = new Map<string, Field>();
  const marked = yield* markingMasks(schema, resources);
  // Without a reference that is left out, or with one that never ends, defaults cannot be judged.
  const isWhole = faults.length === 0;
  for (const [field, fieldSchema] of Object.entries(schema.properties)) {
    const keepsDefault = unset.has(field) || !isWhole;
    const compiled = yield* compilingField(compiler, field, fieldSchema, spare, { keepsDefault, hasFormats });
    if (Array.isArray(compiled)) faults.push(...compiled);
    else fields.set(field, { ...compiled, schema: marked[field] ?? fieldSchema });
  }
  if (faults.length > 0) throw new ScopeSchemaError(...onePerPlace(faults));
  const references = new Map<string, string>();
  for (const [field, { schema: fieldSchema }] of fields) {
    const target = fieldSchema["x-keyOf"];
    if (target === undefined) continue;
    if (!fields.has(target))
      faults.push({
        message: `the field "${field}" refers to "${target}", which is not a field of the scope`,
        pointer: sourceOf(json, ["properties", field, "x-keyOf"]),
      });
    references.set(field, target);
  }
  const renamed = renamedFields(json, fields, faults);
  if (faults.length > 0) throw new ScopeSchemaError(...faults);
  const names = new Map([...new Set(renamed.values())].map(field => [field, [{ scope: name, field }]]));
  for (const [old, field] of renamed) names.get(field)?.push({ scope: name, field: old });
  const told = notes.slice(0, mostFaults).map(note => shortened(note, limits.shownMessage));
  if (notes.length > told.length) told.push(`${notes.length - told.length} more such notes are left out`);
  const scope = { name, schema, fields, references, renamed, names, unset, required, notes: told };
  const broken = brokenReferencesIn(scope, () => undefined).map(({ field, target }) => ({
    message: `the default of "${field}" is not a key of the default of "${target}"`,
    pointer: sourceOf(json, ["properties", field, "default"]),
  }));
  if (broken.length > 0) throw new ScopeSchemaError(...broken);
  return scope;
}

/** Old names of fields, with the current ones. Adds to `faults` which are invalid or ambiguous. */
function renamedFields(
  json: JsonObject,
  fields: ReadonlyMap<string, Field>,
  faults: SchemaFault[],
): ReadonlyMap<string, string> {
  const renamed = new Map<string, string>();
  for (const [field, { schema }] of fields) {
    for (const old of [schema["x-renamedFrom"] ?? []].flat()) {
      const other = renamed.get(old);
      let why: string | undefined;
      if (!isFieldName(old)) why = "is not a valid field name";
      else if (fields.has(old)) why = "is a field of the scope";
      else if (other !== undefined) why = `is already an old name of "${other}"`;
      renamed.set(old, field);
      if (why === undefined) continue;
      const pointer = sourceOf(json, ["properties", field, "x-renamedFrom"]);
      faults.push({ message: `"x-renamedFrom" of the field "${field}": "${old}" ${why}`, pointer });
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
  if (isJsonObject(keys) && Object.hasOwn(keys, value)) return undefined;
  const isMasked = masksAnything(scope.fields.get(field)?.schema ?? {});
  const shown = isMasked ? "a masked text" : `"${shortened(value, limits.shownName)}"`;
  return { scope: scope.name, field, target, value, shown };
}

/** The patterns of one schema, without those of the schemas inside it. */
function patternsOf({ pattern, patternProperties = null }: JsonObject): readonly string[] {
  const names = isJsonObject(patternProperties) ? Object.keys(patternProperties) : [];
  return typeof pattern === "string" ? [pattern, ...names] : names;
}

/** Returns a function that returns the pattern or throws its error: the pattern may never be needed. */
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

/** Undefined also for an invalid pattern, which its schema's compilation reports. */
function unchecked(pattern: () => TextPattern): string | undefined {
  try {
    return whyUnchecked(pattern());
  } catch {
    return undefined;
  }
}

const noFields = `it is not a schema with "type": "object" and "properties"`;

/** One for each place: several fields may refer to it, and what a later check says of it follows from the first. */
function onePerPlace(faults: readonly SchemaFault[]): SchemaFault[] {
  return [...new Map(faults.toReversed().map(fault => [fault.pointer, fault])).values()].reverse();
}
