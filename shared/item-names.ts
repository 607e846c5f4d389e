import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";

/** How the items of a list are named: by the value of a property, which is a number or a text. */
export interface ItemNames {
  readonly property: string;
  readonly areNumbers: boolean;
}

/** The names of a list's items by its schema: the first of its `uniqueItemProperties`. Undefined: items have only an index. */
export function itemNamesOf(schema: unknown): ItemNames | undefined {
  const names = isJsonObject(schema) ? schema["uniqueItemProperties"] : undefined;
  const [property] = Array.isArray(names) ? names : [];
  if (typeof property !== "string") return undefined;
  const own = schemaWithin(schemaWithin(schema, ""), property);
  const type = isJsonObject(own) ? own["type"] : undefined;
  return { property, areNumbers: type === "integer" || type === "number" };
}

/** The subschema of a member or of the items; undefined if the schema does not describe it. */
export function schemaWithin(schema: unknown, token: string): unknown {
  if (!isJsonObject(schema)) return undefined;
  const { properties, additionalProperties, items } = schema;
  const isNamed = isJsonObject(properties) && Object.hasOwn(properties, token);
  return isNamed ? properties[token] : (additionalProperties ?? items);
}

/** The name of an item as text; undefined if it has none. */
export function nameOf(item: JsonValue | undefined, { property }: ItemNames): string | undefined {
  const name = isJsonObject(item) && Object.hasOwn(item, property) ? item[property] : undefined;
  return typeof name === "string" || typeof name === "number" ? String(name) : undefined;
}

/** The index that `[2]` is in a list whose items have names, which may be numbers; undefined for any other token. */
export function bracketedIndex(token: string, names: ItemNames | undefined): number | undefined {
  const [, digits] = (names && /^\[(\d+)\]$/.exec(token)) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** The index of the item with this name or index; undefined if there is none. An index without brackets may be the one after the last. */
export function indexOfItem(
  list: readonly JsonValue[],
  token: string,
  names: ItemNames | undefined,
): number | undefined {
  const index = bracketedIndex(token, names);
  if (index !== undefined) return index < list.length ? index : undefined;
  const named = names === undefined ? -1 : list.findIndex(item => nameOf(item, names) === token);
  if (named !== -1) return named;
  // A number is no index where it may be the name of a new item.
  if (names?.areNumbers || !/^(0|[1-9]\d{0,8})$/.test(token)) return undefined;
  return Number(token) <= list.length ? Number(token) : undefined;
}

/** An item with nothing but this name; undefined if no item can have it. */
export function newItem(token: string, names: ItemNames | undefined): JsonObject | undefined {
  if (names === undefined || bracketedIndex(token, names) !== undefined) return undefined;
  if (!names.areNumbers) return { [names.property]: token };
  return String(Number(token)) === token ? { [names.property]: Number(token) } : undefined;
}
