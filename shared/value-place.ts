import { joinPointer } from "./value-edit.ts";

/** The name of a member, or the index of an item: `.web`, `.2`, `[2]`, `."a.b"` or `["a.b"]`; in quotes as JSON writes text. */
const step = /\.([^."[\]]+)|\[(\d+)\]|\.("(?:[^"\\]|\\.)*")|\[("(?:[^"\\]|\\.)*")\]/y;

/** The JSON pointer of a place inside a field's value, typed as `svc.services.web.image`; undefined if it is none of this field. */
export function pointerInside(typed: string, field: string): string | undefined {
  if (!typed.startsWith(field)) return undefined;
  const tokens: string[] = [];
  step.lastIndex = field.length;
  while (step.lastIndex < typed.length) {
    const [, plain, index, ...quoted] = step.exec(typed) ?? [];
    const token = plain ?? index ?? textOf(quoted.find(one => one !== undefined));
    if (token === undefined) return undefined;
    tokens.push(token);
  }
  return joinPointer(tokens);
}

/** A name in quotes, read; undefined if it is not valid. */
function textOf(quoted: string | undefined): string | undefined {
  try {
    return quoted === undefined ? undefined : String(JSON.parse(quoted));
  } catch {
    return undefined;
  }
}

/** A place as it is typed. */
export function showSteps(field: string, tokens: readonly string[]): string {
  return [field, ...tokens.map(name => (/^[^."[\]\p{C}]+$/u.test(name) ? name : JSON.stringify(name)))].join(".");
}
