import { basename, dirname } from "node:path";
import type { FoundVariables } from "../../../shared/import/found-variables.ts";
import type { Fields } from "../connect/fields.ts";
import { hasExportMark } from "../environment/formats.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { assignToEnvironment, assignToFields } from "./assign-variables.ts";
import { mappedValues, nothingRead, type ReadValues, valuesIn, variablesIn } from "./read-values.ts";

/** `env` names fields, as `repoconf export --format env` does; `dotenv` and those behind it name variables. */
export const importFormats = [
  "json",
  "yaml",
  "toml",
  "env",
  "dotenv",
  "sh",
  "fish",
  "pwsh",
  "mise",
  "compose",
] as const;
export type ImportFormat = (typeof importFormats)[number];

/** The format of a file by its name, and for env files by their first line. */
export function formatOfFile(file: string, content: string): ImportFormat {
  const name = basename(file).toLowerCase();
  const ofEnvFile = () => (hasExportMark(content) ? "env" : "dotenv");
  if (/\.json$/.test(name)) return "json";
  if (/^\.env(\..+)?$|\.env$/.test(name)) return ofEnvFile();
  if (/(^|\.)envrc(\..+)?$|\.sh$/.test(name)) return "sh";
  if (/\.fish$/.test(name)) return "fish";
  if (/\.ps1$/.test(name)) return "pwsh";
  if (/^\.?mise(\..+)?\.toml$/.test(name) || (name === "config.toml" && basename(dirname(file)) === "mise"))
    return "mise";
  if (/^(docker-)?compose(\..+)?\.ya?ml$/.test(name)) return "compose";
  if (/\.ya?ml$/.test(name)) return "yaml";
  if (/\.toml$/.test(name)) return "toml";
  // Such as prod.env.local and env.example.
  return /(^|\.)env(\.|$)/.test(name) ? ofEnvFile() : "json";
}

export interface ImportedFile {
  /** For messages. */
  readonly name: string;
  readonly content: string;
  readonly format: ImportFormat;
  /** The text of a mapping, and its name. */
  readonly mapping?: { readonly name: string; readonly content: string } | undefined;
  /** Of a compose file. */
  readonly service?: string | undefined;
  readonly ignoreUnknown: boolean;
}

/** What a file would set. Throws CommandError if it cannot be read in its format. */
export async function readImportedFile(file: ImportedFile, fields: Fields): Promise<ReadValues> {
  const { name, content, format, mapping, service, ignoreUnknown } = file;
  const isDocument = format === "json" || format === "yaml" || format === "toml";
  if (mapping !== undefined && !isDocument)
    throw new CommandError(`--map is for JSON, YAML and TOML, and ${name} is read as ${format}.`, exitCodes.usage);
  if (service !== undefined && format !== "compose")
    throw new CommandError(`--service is for compose files, and ${name} is read as ${format}.`, exitCodes.usage);
  if (!isDocument) {
    const found = await readVariables(file, format);
    return format === "env" ? assignToFields(found, fields, ignoreUnknown) : assignToEnvironment(found, fields);
  }
  if (content.trim() === "" && format !== "json") return nothingRead();
  const { parseDocument } = await import("./parse-document.ts");
  const root = await parseDocument(content, format, name);
  if (mapping !== undefined)
    return mappedValues(root, await parseDocument(mapping.content, "json", mapping.name), fields);
  const variables = variablesIn(root);
  if (variables === undefined) return valuesIn(root, fields, ignoreUnknown);
  return assignToEnvironment({ variables, problems: [], notes: [] }, fields);
}

async function readVariables(
  { content, name, service }: ImportedFile,
  format: Exclude<ImportFormat, "json" | "yaml" | "toml">,
): Promise<FoundVariables> {
  switch (format) {
    case "env":
    case "dotenv":
      return (await import("../../../shared/import/read-dotenv.ts")).readDotenv(content);
    case "sh":
      return (await import("./read-shell.ts")).readShell(content);
    case "fish":
      return (await import("./read-shell.ts")).readFish(content);
    case "pwsh":
      return (await import("./read-shell.ts")).readPowerShell(content);
    case "mise":
      return (await import("./read-tables.ts")).readMise(content, name);
    case "compose":
      return (await import("./read-tables.ts")).readCompose(content, name, service);
  }
}
