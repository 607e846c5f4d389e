import { goTypes } from "./go.ts";
import { pythonTypes } from "./python.ts";
import type { TypedScope } from "./type-of-schema.ts";
import { typescriptTypes } from "./typescript.ts";

export const languages = ["ts", "python", "go"] as const;
export type Language = (typeof languages)[number];

export function writeTypes(scopes: readonly TypedScope[], language: Language, packageName: string): string {
  if (language === "ts") return typescriptTypes(scopes);
  return language === "python" ? pythonTypes(scopes) : goTypes(scopes, packageName);
}
