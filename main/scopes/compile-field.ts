import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import type { CompiledSchema, SchemaCompiler } from "../../shared/schema/compile-schema.ts";
import { describeSchemaProblem } from "../../shared/schema/describe-problem.ts";
import { SchemaError } from "../../shared/schema/keyword.ts";
import type { SpareSteps } from "../../shared/schema/step-budget.ts";
import { type FieldSchema, runsAsCommand } from "../../shared/scopes/scope-schema.ts";
import { shortened } from "../../shared/shortened.ts";
import { joinPointer, valueAt } from "../../shared/value-edit.ts";
import { showPointer } from "../../shared/value-place.ts";
import { metaSchemas } from "./meta-schema.ts";
import { mostFaults, type SchemaFault, sourceOf } from "./schema-faults.ts";
import { cachingResults, checkValue, findPrototypeMember, type ValueProblem } from "./value-check.ts";

export interface Field {
  /** As in the file, with `x-masked` added wherever a reference or a choice leads to something masked. */
  readonly schema: FieldSchema;
  /** Its value runs as a command (`x-command`, `x-env`). */
  readonly isCommand: boolean;
  /** `spare`: shared by all checks of one file or request; if omitted, this check gets its own. */
  validate(value: JsonValue, spare?: SpareSteps): ValueProblem | undefined;
  /** Like `validate`, and the value has to have its `format` too. */
  validateNew(value: JsonValue, spare?: SpareSteps): ValueProblem | undefined;
  /** What of a valid value does not have its `format`. */
  misfit(value: JsonValue): ValueProblem | undefined;
}

/** The keywords that have an invalid value. */
export function metaFaults(
  metaSchema: CompiledSchema,
  schema: JsonObject,
  spare: SpareSteps,
  where = "",
): SchemaFault[] {
  const prototype = findPrototypeMember(schema);
  if (prototype !== undefined)
    return [{ message: `${where}it must not have a member called __proto__`, pointer: sourceOf(schema, []) }];
  return metaSchema.check(schema, spare, mostFaults).problems.map(problem => {
    const tokens = problem.path.map(String);
    const path = joinPointer(tokens);
    const place = tokens.length === 0 ? "it" : `${tokens.at(-1)} at ${shortened(path, limits.shownName)}`;
    const message =
      problem.keyword === "false"
        ? `${place} has no effect there: put it directly into the field's own schema`
        : `${place} ${describeSchemaProblem(problem, valueAt(schema, path))}`;
    return { message: `${where}${message}`, pointer: sourceOf(schema, tokens) };
  });
}

/** Why a field's values cannot be higher in each worktree (`x-step`). */
function whyNoStep(schema: FieldSchema): string | undefined {
  if (schema["x-step"] === undefined) return undefined;
  const types: readonly unknown[] = [schema["type"]].flat();
  const others = types.filter(type => type !== "integer" && type !== "string" && type !== "null");
  if (others.length > 0 || !types.some(type => type === "integer" || type === "string"))
    return 'needs the type "integer" or "string" there, so that the next higher value is known';
  // A worktree has a value of its own there, which is taken as it is.
  return schema["x-layers"]?.includes("local") === false ? 'needs "local" in x-layers, if there is one' : undefined;
}

/** Makes a field; or says what is wrong with its schema. `keepsDefault`: whatever its default is. `hasFormats`: the scope has. */
export function* compilingField(
  compiler: SchemaCompiler,
  name: string,
  schema: FieldSchema,
  spare: SpareSteps,
  { keepsDefault, hasFormats }: { readonly keepsDefault: boolean; readonly hasFormats: boolean },
): Generator<void, Field | SchemaFault[]> {
  const where = `the field "${name}": `;
  if (!isJsonObject(schema)) return [{ message: `the field "${name}" has no schema`, pointer: `/properties/${name}` }];
  const json: JsonObject = schema;
  const at = (...tokens: string[]) => sourceOf(json, tokens);
  // A typing error must not turn off the protection.
  if (typeof (schema["x-command"] ?? false) !== "boolean")
    return [{ message: `"x-command" of the field "${name}" must be true or false`, pointer: at("x-command") }];
  // A single field's schema may be as large as the file.
  yield;
  const invalid = metaFaults(metaSchemas.field, json, spare, where);
  if (invalid.length > 0) return invalid;
  const noStep = whyNoStep(schema);
  if (noStep !== undefined) return [{ message: `"x-step" of the field "${name}" ${noStep}`, pointer: at("x-step") }];
  yield;
  let compiled: CompiledSchema;
  try {
    compiled = yield* compiler.compiling(json);
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    if (error.keywords.length === 0) return [{ message: `${where}${error.message}`, pointer: at() }];
    return error.keywords.map(one => ({
      message: `${where}${one.message}`,
      pointer: sourceOf(one.schema, [one.keyword]),
    }));
  }
  const validate = cachingResults((value, spareSteps) => checkValue(compiled, value, spareSteps));
  yield;
  const problem = keepsDefault ? undefined : validate(schema.default, spare);
  if (problem === undefined) {
    const validateNew = hasFormats
      ? cachingResults((value, spareSteps) => checkValue(compiled, value, spareSteps, true))
      : validate;
    const misfit = (value: JsonValue) => (hasFormats ? validateNew(value) : undefined);
    return { schema, isCommand: runsAsCommand(schema), validate, validateNew, misfit };
  }
  const place = showPointer("it", problem.path, schema.default, schema);
  const message = `the default of "${name}" does not match its own schema: ${place} ${problem.message}`;
  return [{ message, pointer: `${at("default")}${problem.path}` }];
}
