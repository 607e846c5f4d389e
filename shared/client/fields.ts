import type { SvcConfig } from "../scopes/svc.ts";

/**
 * The scopes whose fields have types. Add your own by declaration merging:
 * `declare module "repoconf/client" { interface ConfigScopes { build: { jobs: number } } }`.
 */
export interface ConfigScopes {
  svc: SvcConfig;
}

type ScopeName = keyof ConfigScopes & string;

/** Every typed field, as `<scope>.<field>`. */
export type FieldPath = { [Scope in ScopeName]: `${Scope}.${keyof ConfigScopes[Scope] & string}` }[ScopeName];

/** The type of a field's value. */
export type FieldValue<Path extends FieldPath> = Path extends `${infer Scope extends ScopeName}.${infer Field}`
  ? ConfigScopes[Scope][Field & keyof ConfigScopes[Scope]]
  : never;

/** Some fields and their new values. */
export type FieldValues = { readonly [Path in FieldPath]?: FieldValue<Path> };
