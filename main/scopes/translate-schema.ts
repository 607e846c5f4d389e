import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";
import { schemaPace } from "../../shared/schema/schema-pace.ts";
import { holdsSchemas } from "../../shared/schema/subschemas.ts";
import { joinPointer, pointerTokens, valueAt } from "../../shared/value-edit.ts";
import { knownKeywords } from "./meta-schema.ts";
import { comingFrom, type SchemaFault } from "./schema-faults.ts";
import { absoluteUri, anchorsOf, idOf, isWhole } from "./schema-ids.ts";

/** By what `$schema` says, without its scheme and final `#`. */
const drafts: { readonly [dialect: string]: number } = {
  "json-schema.org/draft-04/schema": 4,
  "json-schema.org/draft-06/schema": 6,
  "json-schema.org/draft-07/schema": 7,
  "json-schema.org/draft/2019-09/schema": 2019,
  "json-schema.org/draft/2020-12/schema": 2020,
};
const dialect2020 = "https://json-schema.org/draft/2020-12/schema";
const ownBase = "repoconf:/scope";

/** What stays beside a `$ref` before 2019-09, where every other keyword beside it is ignored: what tells people something, and ours. */
const besideReference =
  /^(?:\$ref|\$comment|title|description|default|examples|deprecated|readOnly|writeOnly|definitions|\$defs|x-.*)$/;

/** Our keywords that protect: they must not be lost with what an older draft ignores. */
const ours = /"x-(?:command|env|masked|secret|keyOf|renamedFrom|layers)":/;

/** A part of the file that a URI names: the whole, or a schema with an `$id`. */
interface Resource {
  /** JSON pointer in the file. */
  readonly pointer: string;
  /** Names of `$anchor` and of `$dynamicAnchor`, with the pointers of the schemas that have them. */
  readonly anchors: Map<string, string>;
}

/** A schema of 2020-12 in which every reference is a JSON pointer into it; references that cannot be such are left out. */
export interface TranslatedSchema {
  readonly schema: JsonObject;
  readonly faults: readonly SchemaFault[];
}

/**
 * Translates a JSON Schema of draft-04, 06, 07, 2019-09 or 2020-12 (also a schema without `$schema`) into 2020-12. Never loses `x-*`. Of
 * what it makes is known where it comes from (schema-faults.ts). Yields now and then.
 */
export function translatingSchema(root: JsonObject): Generator<void, TranslatedSchema> {
  return new Translation(root).run();
}

class Translation {
  readonly #root: JsonObject;
  /** Of the whole file, and of each schema in it: a part with an `$id` and a `$schema` of its own has its own. */
  readonly #draft: number;
  readonly #drafts = new Map<JsonObject, number>();
  /** By absolute URI without fragment. */
  readonly #resources = new Map<string, Resource>();
  readonly #bases = new Map<JsonObject, string>();
  /** Where each schema is in the translation, by its JSON pointer in the file. */
  readonly #places = new Map<string, readonly string[]>();
  readonly #dynamic = new Set<string>();
  /** Where each schema is in the file. */
  readonly #pointers = new Map<JsonObject, string>();
  /** Schemas that references find behind keywords which are not known, such as a group of definitions; by their names in `$defs`. */
  readonly #elsewhere = new Map<string, JsonObject>();
  readonly #faults: SchemaFault[] = [];
  readonly #isLong = schemaPace();

  constructor(root: JsonObject) {
    this.#root = root;
    // Without one, lists in `items` tell that it is an older draft; nothing else differs.
    this.#draft = root["$schema"] === undefined ? 2019 : this.#draftSaid(root, "");
  }

  *run(): Generator<void, TranslatedSchema> {
    yield* this.#index(this.#root, ownBase, this.#draft, "", []);
    const made: { [keyword: string]: JsonValue } = {
      ...(this.#root["$schema"] !== undefined && { $schema: dialect2020 }),
      ...(yield* this.#translate(this.#root, true)),
    };
    // One may refer to the next.
    const more = new Map<string, JsonValue>();
    for (const [name, schema] of this.#elsewhere) more.set(name, yield* this.#translate(schema, false));
    if (more.size > 0) made["$defs"] = { ...(made["$defs"] as JsonObject), ...Object.fromEntries(more) };
    return { schema: comingFrom(made, ""), faults: this.#faults };
  }

  /** Records the base and the new place of a schema and of all schemas in it. */
  *#index(
    schema: JsonValue,
    outerBase: string,
    outerDraft: number,
    pointer: string,
    place: readonly string[],
  ): Generator<void, void> {
    this.#places.set(pointer, place);
    if (!isJsonObject(schema)) return;
    if (this.#isLong()) yield;
    const draft = place.length > 0 && isWhole(schema) ? this.#draftSaid(schema, pointer) : outerDraft;
    this.#drafts.set(schema, draft);
    this.#pointers.set(schema, pointer);
    const id = idOf(schema, draft);
    const base = id === undefined ? outerBase : absoluteUri(id, outerBase);
    if (place.length === 0) this.#resources.set(ownBase, { pointer, anchors: new Map() });
    if (base !== outerBase) this.#resources.set(base, { pointer, anchors: new Map() });
    this.#bases.set(schema, base);
    for (const name of anchorsOf(schema, draft)) this.#resources.get(base)?.anchors.set(name, pointer);
    const { $dynamicAnchor } = schema;
    if (typeof $dynamicAnchor === "string") {
      if (this.#dynamic.has($dynamicAnchor))
        this.#add(
          pointer,
          "$dynamicAnchor",
          `it has several $dynamicAnchor "${$dynamicAnchor}", and only one of a name is supported`,
        );
      this.#dynamic.add($dynamicAnchor);
    }
    if (schema["$recursiveAnchor"] === true && place.length > 0)
      this.#add(
        pointer,
        "$recursiveAnchor",
        "it has a $recursiveAnchor inside of another schema, which is not supported",
      );
    for (const [inner, from, to] of this.#schemasIn(schema))
      yield* this.#index(inner, base, draft, pointer + joinPointer(from), [...place, ...to]);
  }

  /** What is directly in a schema and may be one, with the way to it here and in the translation. */
  *#schemasIn(schema: JsonObject): Generator<readonly [JsonValue, from: readonly string[], to: readonly string[]]> {
    for (const [keyword, operand] of Object.entries(schema)) {
      const to = this.#keywordFor(schema, keyword);
      if (to === undefined || !holdsSchemas(to)) continue;
      if (isJsonObject(operand) && !this.#isMap(keyword)) yield [operand, [keyword], [to]];
      else if (typeof operand !== "object" || operand === null) yield [operand, [keyword], [to]];
      else for (const [name, inner] of Object.entries(operand)) yield [inner, [keyword, name], [to, name]];
    }
  }

  /** The keyword of 2020-12 for one of the schema's draft; undefined if it has no effect there. */
  #keywordFor(schema: JsonObject, keyword: string): string | undefined {
    const draft = this.#draftOf(schema);
    if (draft <= 7 && typeof schema["$ref"] === "string" && !besideReference.test(keyword)) return undefined;
    if (draft < 2020 && Array.isArray(schema["items"])) {
      if (keyword === "items") return "prefixItems";
      if (keyword === "additionalItems") return "items";
    } else if (keyword === "additionalItems") return undefined;
    return keyword;
  }

  #isMap(keyword: string): boolean {
    return /^(?:\$defs|definitions|dependencies|dependentSchemas|patternProperties|properties)$/.test(keyword);
  }

  #draftOf(schema: JsonObject): number {
    return this.#drafts.get(schema) ?? this.#draft;
  }

  *#translate(schema: JsonObject, isRoot: boolean): Generator<void, JsonObject> {
    if (this.#isLong()) yield;
    // A map, because a file may have a keyword called __proto__.
    const made = new Map<string, JsonValue>();
    const draft = this.#draftOf(schema);
    for (const [keyword, operand] of Object.entries(schema)) {
      const to = this.#keywordFor(schema, keyword);
      if (to === undefined && keyword !== "additionalItems" && ours.test(JSON.stringify({ [keyword]: operand })))
        this.#add(
          this.#pointers.get(schema) ?? "",
          keyword,
          `its "${keyword}" beside $ref has no effect before 2019-09, but has keywords of Repoconf: move them`,
        );
      if (to === undefined || /^(?:\$schema|\$anchor|\$dynamicAnchor|\$recursiveAnchor)$/.test(to)) continue;
      if (to === "$id" || (to === "id" && draft === 4)) {
        if (isRoot && typeof operand === "string" && !operand.startsWith("#")) made.set("$id", operand);
      } else if (/^\$(?:ref|dynamicRef|recursiveRef)$/.test(to) && typeof operand === "string") {
        const reference = yield* this.#reference(schema, keyword, operand);
        if (reference === undefined) continue;
        if (!made.has("$ref")) made.set("$ref", reference);
        else addTo(made, "allOf", [{ $ref: reference }]);
      } else if (draft === 4 && /^exclusiveM(?:in|ax)imum$/.test(to) && typeof operand === "boolean") {
        const limit = schema[to === "exclusiveMinimum" ? "minimum" : "maximum"];
        if (operand && typeof limit === "number") made.set(to, limit);
      } else if (!this.#isReplacedBound(schema, to)) {
        const inner = holdsSchemas(to) ? yield* this.#translateOperand(keyword, operand) : operand;
        if (to === "allOf" && Array.isArray(inner)) addTo(made, to, inner);
        // Before 2019-09 it was no keyword, and some tools have a text there.
        else if (to === "deprecated" && draft <= 7 && typeof inner === "string") made.set(to, true);
        else made.set(to, inner);
      }
    }
    return comingFrom(Object.fromEntries(made), this.#pointers.get(schema) ?? "");
  }

  /** Whether `minimum` or `maximum` is exclusive by a `true` beside it, as in draft-04. */
  #isReplacedBound(schema: JsonObject, keyword: string): boolean {
    if (this.#draftOf(schema) !== 4) return false;
    return (
      (keyword === "minimum" && schema["exclusiveMinimum"] === true) ||
      (keyword === "maximum" && schema["exclusiveMaximum"] === true)
    );
  }

  *#translateOperand(keyword: string, operand: JsonValue): Generator<void, JsonValue> {
    if (typeof operand !== "object" || operand === null) return operand;
    if (isJsonObject(operand) && !this.#isMap(keyword)) return yield* this.#translate(operand, false);
    const made: [name: string, inner: JsonValue][] = [];
    for (const [name, inner] of Object.entries(operand))
      made.push([name, isJsonObject(inner) ? yield* this.#translate(inner, false) : inner]);
    return isJsonObject(operand) ? Object.fromEntries(made) : made.map(([, inner]) => inner);
  }

  /** The JSON pointer, as a fragment, of what a reference points to. */
  *#reference(schema: JsonObject, keyword: string, reference: string): Generator<void, string | undefined> {
    const [uri = "", fragment = ""] = absoluteUri(reference, this.#bases.get(schema) ?? ownBase, true).split("#");
    const resource = this.#resources.get(uri);
    const pointer = resource && pointerTo(resource, fragment);
    const place =
      pointer === undefined ? undefined : (this.#places.get(pointer) ?? (yield* this.#placeElsewhere(pointer)));
    if (place !== undefined) return `#${joinPointer(place.map(encodeURI))}`;
    const why =
      resource === undefined ? `points outside the file${this.#ifItself(uri, fragment)}` : "does not point to a schema";
    this.#add(this.#pointers.get(schema) ?? "", keyword, `its ${keyword} "${reference}" ${why}`);
    return undefined;
  }

  /** What to change if a file without a name of its own means itself by an address. */
  #ifItself(uri: string, fragment: string): string {
    const { $id, id } = this.#root;
    const whole = this.#resources.get(ownBase);
    const pointer = whole && pointerTo(whole, fragment);
    const isNamed = $id !== undefined || id !== undefined || !/^https?:/.test(uri);
    if (isNamed || pointer === undefined || valueAt(this.#root, pointer) === undefined) return "";
    return `; if it means this file, add "$id": "${uri}" to it`;
  }

  /** Where the translation puts a schema behind a keyword that is not known; undefined if there is none. */
  *#placeElsewhere(pointer: string): Generator<void, readonly string[] | undefined> {
    const tokens = pointerTokens(pointer);
    const around = tokens.findLastIndex((_, index) => this.#places.has(joinPointer(tokens.slice(0, index))));
    const keyword = tokens[around];
    const schema = valueAt(this.#root, pointer);
    if (keyword === undefined || knownKeywords.has(keyword) || !isJsonObject(schema)) return undefined;
    const name = `elsewhere:${tokens.join("/")}`;
    yield* this.#index(schema, ownBase, this.#draft, pointer, ["$defs", name]);
    this.#elsewhere.set(name, schema);
    return ["$defs", name];
  }

  #add(pointer: string, keyword: string, message: string): void {
    this.#faults.push({ message, pointer: pointer + joinPointer([keyword]) });
  }

  #draftSaid({ $schema }: JsonObject, pointer: string): number {
    const name = String($schema).replace(/^https?:\/\//, "");
    const known = drafts[name.replace(/#$/, "")];
    if (known === undefined)
      this.#add(
        pointer,
        "$schema",
        `its $schema is "${$schema}": known are draft-04, draft-06, draft-07, 2019-09 and 2020-12`,
      );
    return known ?? 2020;
  }
}

/** Adds to a list, which a second reference may have begun. */
function addTo(made: Map<string, JsonValue>, keyword: string, schemas: readonly JsonValue[]): void {
  const before = made.get(keyword);
  made.set(keyword, [...(Array.isArray(before) ? before : []), ...schemas]);
}

/** The JSON pointer in the file of a fragment in a part of it. */
function pointerTo({ pointer, anchors }: Resource, fragment: string): string | undefined {
  if (fragment !== "" && !fragment.startsWith("/")) return anchors.get(decoded(fragment));
  const tokens = fragment.split("/").slice(1);
  return pointer + joinPointer(tokens.map(token => decoded(token).replaceAll("~1", "/").replaceAll("~0", "~")));
}

function decoded(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}
