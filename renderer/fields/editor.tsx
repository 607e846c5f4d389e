import { type ComponentType, createContext, useContext } from "react";
import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import { schemaOf } from "../../shared/scopes/masks.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import type { RenamedEntry } from "../state/edits.ts";
import type { ValueProblem } from "./validate.ts";

/** The properties of every control. */
export interface EditorProps {
  readonly value: JsonValue;
  readonly schema: ValueSchema;
  /** The label for screen readers; the visible label beside it is the same. */
  readonly label: string;
  /** The ids of its description and its problems. */
  readonly describedBy?: string | undefined;
  /** The problems of this value and its parts, with paths relative to this value. */
  readonly problems: readonly ValueProblem[];
  /** For a value that is a key of another field: the existing keys. */
  readonly keys?: readonly string[] | undefined;
  /** Whether masked values are shown. */
  readonly revealed: boolean;
  /** What stands for null, which is no value of the control's own; if left out, "not set". */
  readonly nothing?: string | undefined;
  /** `renamed`: the entry of the value that has another name now, if that is what the person changed. */
  onChange(value: JsonValue, renamed?: RenamedEntry): void;
}

/** The editor of any value: passed by context, because editors of nested values need it and it needs them. */
export const EditorOfValues = createContext<ComponentType<EditorProps> | undefined>(undefined);

/** The editor of a value nested in another. */
export function NestedEditor(props: EditorProps) {
  const Editor = useContext(EditorOfValues);
  return Editor === undefined ? undefined : <Editor {...props} />;
}

/** The schema of all entries of a list; undefined: it says nothing about them, or something else for each of the first ones. */
export function itemSchema({ items, prefixItems }: ValueSchema): ValueSchema | undefined {
  return isJsonObject(items) && prefixItems === undefined ? (items as ValueSchema) : undefined;
}

/** The schema of one entry of a list; undefined: there may be no such entry. */
export function schemaOfItem({ items, prefixItems }: ValueSchema, index: number): ValueSchema | undefined {
  const own: unknown = Array.isArray(prefixItems) && index < prefixItems.length ? prefixItems[index] : items;
  return own === false ? undefined : schemaOf(own);
}

/** The problems of a part of the value, with paths relative to the part. */
export function problemsWithin(problems: readonly ValueProblem[], part: string): ValueProblem[] {
  return problems.filter(({ path }) => path[0] === part).map(({ path, message }) => ({ path: path.slice(1), message }));
}

/** The problems of the value itself, not of its parts. */
export function ownProblems(problems: readonly ValueProblem[]): readonly ValueProblem[] {
  return problems.filter(({ path }) => path.length === 0);
}
