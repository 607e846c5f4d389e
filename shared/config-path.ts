/** The only place that knows how a field's name is written: `<scope>.<field>`, split at the first dot (spec 4.1, rule 3). */
export interface ConfigPath {
  readonly scope: string;
  readonly field: string;
}

const scopeName = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const fieldName = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;

/** Splits at the first dot; undefined if there is none. Does not check that the names are valid or known. */
export function splitConfigPath(text: string): ConfigPath | undefined {
  const dot = text.indexOf(".");
  return dot === -1 ? undefined : { scope: text.slice(0, dot), field: text.slice(dot + 1) };
}

export function joinConfigPath(scope: string, field: string): string {
  return `${scope}.${field}`;
}

/** Whether the name is valid for a scope. Names that every object has (`constructor`, `toString`) are not. */
export function isScopeName(name: string): boolean {
  return scopeName.test(name) && !(name in Object.prototype);
}

/** Whether you can define a scope with this name, which is also its file's name. `svc` is built in. */
export function isOwnScopeName(name: string): boolean {
  return isScopeName(name) && name !== "svc";
}

/** Whether the name (without its scope) is valid for a field. */
export function isFieldName(name: string): boolean {
  return fieldName.test(name) && !(name in Object.prototype);
}
