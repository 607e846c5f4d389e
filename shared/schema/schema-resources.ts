import type { JsonObject, JsonValue } from "../json.ts";
import { schemaPace } from "./schema-pace.ts";
import { subschemas } from "./subschemas.ts";

/**
 * The schemas of a file, and what their references point to. A reference stays within the file, and within the part that an `$id`
 * starts.
 */
export class SchemaResources {
  readonly #root: JsonObject;
  readonly #schemas = new Set<JsonObject>();
  /** The part (started by an `$id`) that an object belongs to. Objects that belong to the whole file are not listed. */
  readonly #parts = new Map<object, JsonObject>();
  readonly #anchors = new Map<object, Map<string, JsonObject>>();

  private constructor(root: JsonObject) {
    this.#root = root;
    this.#anchors.set(root, new Map());
  }

  /** Reads the file whose root is `root`. Yields now and then. */
  static *reading(root: JsonObject): Generator<void, SchemaResources> {
    const resources = new SchemaResources(root);
    const isLong = schemaPace();
    const found: [schema: JsonObject, part: JsonObject][] = [[root, root]];
    for (let next = found.pop(); next !== undefined; next = found.pop()) {
      const [schema, part] = next;
      if (resources.#schemas.has(schema)) continue;
      const own = resources.#add(schema, part);
      for (const inner of subschemas(schema)) found.push([inner, own]);
      if (isLong()) yield;
    }
    return resources;
  }

  /** Every schema that is an object; `true` and `false` are left out. */
  get schemas(): ReadonlySet<JsonObject> {
    return this.#schemas;
  }

  /** The part of the file that a schema belongs to: the one that an `$id` starts, or the whole file. */
  partOf(schema: JsonObject): JsonObject {
    return this.#parts.get(schema) ?? this.#root;
  }

  /** The schema that a reference in `schema` points to; undefined if there is none or it is outside the file. */
  resolve(schema: JsonObject, reference: string): JsonObject | boolean | undefined {
    const part = this.partOf(schema);
    if (reference === "#") return part;
    if (!reference.startsWith("#/")) return this.#anchors.get(part)?.get(reference.slice(1));
    let target: JsonValue | undefined = part;
    for (const token of reference.slice(2).split("/")) {
      const name = decoded(token).replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof target !== "object" || target === null || !Object.hasOwn(target, name)) return undefined;
      target = (target as JsonObject)[name];
    }
    if (typeof target === "boolean") return target;
    const found = target as JsonObject;
    return this.#schemas.has(found) ? found : undefined;
  }

  /** Returns the part that the schema belongs to. */
  #add(schema: JsonObject, part: JsonObject): JsonObject {
    this.#schemas.add(schema);
    const isPart = schema !== this.#root && typeof schema["$id"] === "string" && !schema["$id"].startsWith("#");
    const own = isPart ? schema : part;
    if (isPart) this.#anchors.set(own, new Map());
    if (own !== this.#root) this.#parts.set(schema, own);
    const anchors = this.#anchors.get(own);
    for (const name of [schema["$anchor"], schema["$dynamicAnchor"]])
      if (typeof name === "string" && anchors?.has(name) === false) anchors.set(name, schema);
    return own;
  }
}

function decoded(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}
