import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";
import { schemaPace } from "../../shared/schema/schema-pace.ts";
import { mappingSubschemas } from "../../shared/schema/subschemas.ts";
import { joinPointer, pointerTokens } from "../../shared/value-edit.ts";
import { standingFor } from "./schema-faults.ts";

/*
 * References of a translated schema: JSON pointers as fragments of a URI, such as "#/$defs/a%20b".
 */

/** The names and indexes of a reference. */
export function tokensOf(reference: string): string[] {
  return pointerTokens(reference.slice(1)).map(decodeURIComponent);
}

/** What a reference points to. */
export function pointedTo(root: JsonObject, reference: string): JsonValue | undefined {
  let at: JsonValue | undefined = root;
  for (const token of tokensOf(reference)) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, token)) return undefined;
    at = (at as JsonObject)[token];
  }
  return at;
}

/**
 * `schema`, whose references point into `original`, from which it was made. What `isMoved` says is not in `schema` any more, or has other
 * rules there, is copied into its `$defs`, where references to it lead. Yields now and then.
 */
export function* keepingReferences(
  schema: JsonObject,
  original: () => Generator<void, JsonObject>,
  isMoved: (reference: string) => boolean,
): Generator<void, JsonObject> {
  /** By reference: the name in `$defs`. */
  const names = new Map<string, string>();
  const isLong = schemaPace();
  function* copy(part: JsonValue): Generator<void, JsonValue> {
    if (!isJsonObject(part)) return part;
    if (isLong()) yield;
    const made = standingFor(yield* mappingSubschemas(part, copy), part);
    const { $ref } = made;
    if (typeof $ref !== "string" || !isMoved($ref)) return made;
    const name = names.get($ref) ?? `original:${tokensOf($ref).join("/")}`;
    names.set($ref, name);
    return standingFor({ ...made, $ref: `#${joinPointer(["$defs", encodeURIComponent(name)])}` }, part);
  }
  const made = (yield* copy(schema)) as JsonObject;
  if (names.size === 0) return schema;
  const source = yield* original();
  const { $defs: _, definitions: __, $schema: ___, $id: ____, ...whole } = source;
  const defs = new Map(Object.entries((made["$defs"] ?? {}) as JsonObject));
  // A copy may refer to further ones, which the map then gets too.
  for (const [reference, name] of names) {
    const target = reference === "#" ? whole : (pointedTo(source, reference) ?? true);
    defs.set(name, yield* copy(target));
  }
  return standingFor({ ...made, $defs: Object.fromEntries(defs) }, schema);
}
