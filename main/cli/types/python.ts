import { commentLines, type Member, pascalCase, type Type, type TypedScope, uniqueNames } from "./type-of-schema.ts";

/** TypedDicts in the form of a call, because names of fields need not be names of Python. */
export function pythonTypes(scopes: readonly TypedScope[]): string {
  const definitions: string[] = [];
  const nameOf = uniqueNames(["ConfigScopes", "Any", "Literal", "NotRequired", "TypedDict", "None", "True", "False"]);
  const members = scopes.map(({ name, text, type }) => ({ name, text, type, isRequired: true, isDeprecated: false }));
  define("ConfigScopes", members);

  function define(name: string, members: readonly Member[]): void {
    const lines = members.flatMap(({ name: member, text, type, isRequired, isDeprecated }) => {
      const written = write(type, `${name === "ConfigScopes" ? "" : name}${pascalCase(member) || "Field"}`);
      const comments = [...commentLines(text), ...(isDeprecated ? ["Deprecated."] : [])];
      return [
        ...comments.map(line => `    # ${line}`),
        `    ${JSON.stringify(member)}: ${isRequired ? written : `NotRequired[${written}]`},`,
      ];
    });
    definitions.push([`${name} = TypedDict("${name}", {`, ...lines, "})"].join("\n"));
  }

  function write(type: Type, wanted: string): string {
    switch (type.kind) {
      case "string":
        return "str";
      case "integer":
        return "int";
      case "number":
        return "float";
      case "boolean":
        return "bool";
      case "null":
        return "None";
      case "literals": {
        // Python has no literal types of fractions.
        if (type.values.some(value => typeof value === "number" && !Number.isSafeInteger(value))) return "Any";
        return `Literal[${type.values.map(writeLiteral).join(", ")}]`;
      }
      case "list":
        return `list[${write(type.items, `${wanted}Item`)}]`;
      case "map":
        return `dict[str, ${write(type.values, `${wanted}Value`)}]`;
      case "union":
        return type.types.map((one, index) => write(one, index === 0 ? wanted : `${wanted}${index + 1}`)).join(" | ");
      case "object": {
        const name = nameOf(wanted);
        define(name, type.members);
        return name;
      }
      case "unknown":
        return "Any";
    }
  }

  return [
    "# Written by repoconf types --lang python from the schemas of scopes. Run it again when they change.",
    "# For Python 3.11 or newer.",
    "from typing import Any, Literal, NotRequired, TypedDict",
    "",
    '__all__ = ["ConfigScopes"]',
    "",
    definitions.join("\n\n"),
    "",
  ].join("\n");
}

function writeLiteral(value: string | number | boolean | null): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
}
