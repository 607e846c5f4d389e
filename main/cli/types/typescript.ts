import { commentLines, type Member, type Type, type TypedScope } from "./type-of-schema.ts";

/** The client has the types of svc, so these are added to them. */
export function typescriptTypes(scopes: readonly TypedScope[]): string {
  const own = scopes.filter(({ name }) => name !== "svc");
  const members = own.map(({ name, text, type }) =>
    writeMember({ name, text, type, isRequired: true, isDeprecated: false }, "    "),
  );
  return [
    "// Written by repoconf types --lang ts from the schemas of scopes. Run it again when they change.",
    'import "repoconf/client";',
    "",
    'declare module "repoconf/client" {',
    "  interface ConfigScopes {",
    ...members,
    "  }",
    "}",
    "",
  ].join("\n");
}

function writeMember({ name, text, type, isRequired, isDeprecated }: Member, indent: string): string {
  const lines = [...commentLines(text), ...(isDeprecated ? ["@deprecated"] : [])];
  const comment =
    lines.length === 0 ? [] : [`${indent}/**`, ...lines.map(line => `${indent} * ${line}`), `${indent} */`];
  const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
  return [...comment, `${indent}${key}${isRequired ? "" : "?"}: ${write(type, indent)};`].join("\n");
}

function write(type: Type, indent: string): string {
  switch (type.kind) {
    case "integer":
      return "number";
    case "literals":
      return type.values.map(value => JSON.stringify(value)).join(" | ");
    case "list":
      return `readonly (${write(type.items, indent)})[]`;
    case "map":
      return `{ readonly [name: string]: ${write(type.values, indent)} }`;
    case "union":
      return type.types.map(one => `(${write(one, indent)})`).join(" | ");
    case "object": {
      const inner = `${indent}  `;
      const more = type.hasMore ? [`${inner}[name: string]: unknown;`] : [];
      return ["{", ...type.members.map(member => writeMember(member, inner)), ...more, `${indent}}`].join("\n");
    }
    default:
      return type.kind;
  }
}
