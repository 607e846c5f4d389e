import { listField } from "../variables.ts";
import type { Effect } from "./scope-schema.ts";

/** What a value of this field does, as the end of a sentence that begins with the field: the value itself is not always run. */
export function describeEffect({ command, variable }: Effect, field: string): string {
  const told = field === listField ? "sets environment variables" : "tells tools what to run";
  const exported = variable === undefined ? [] : [`becomes the environment variable ${variable}`];
  return [...(command ? [told] : []), ...exported].join(" and ");
}
