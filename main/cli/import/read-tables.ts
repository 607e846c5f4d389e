import { type FoundVariables, VariableCollector } from "../../../shared/import/found-variables.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../shared/json.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { parseDocument, parseYaml } from "./parse-document.ts";

/** Reads the `[env]` of a mise.toml. */
export async function readMise(content: string, file: string): Promise<FoundVariables> {
  const { env = {} } = await parseDocument(content, "toml", file);
  const found = new VariableCollector();
  for (const table of Array.isArray(env) ? env : [env]) {
    if (!isJsonObject(table)) {
      found.problems.push("env is not a table of variables.");
      continue;
    }
    for (const [name, given] of Object.entries(table)) {
      const value = isJsonObject(given) ? given["value"] : given;
      if (name === "_" || name === "mise") {
        const parts = isJsonObject(given) ? Object.keys(given).map(part => `${name}.${part}`) : [name];
        found.notes.push(`${parts.join(" and ")} of mise is left out: it is no variable.`);
      } else if (value === undefined || value === false) {
        const why = value === false ? "mise removes it from the environment" : "it has no text";
        found.notes.push(`${name} is left out, because ${why}.`);
      } else addText(found, name, value);
    }
  }
  for (const { name, text } of found.found.variables) {
    if (!/\{\{|\{%/.test(text)) continue;
    const what = /exec\s*\(/.test(text) ? " and would run a command" : "";
    found.notes.push(`${name} is a template that mise would fill in${what}; it is kept as text.`);
  }
  return found.found;
}

/** Reads the `environment` of a service in a compose file; of the only one that has it, if `service` is undefined. */
export async function readCompose(content: string, file: string, service?: string): Promise<FoundVariables> {
  const { services } = await parseDocument(content, "yaml", file, text => parseYaml(text, true));
  const having = Object.entries(isJsonObject(services) ? services : {}).flatMap(([name, one]) =>
    isJsonObject(one) && one["environment"] !== undefined ? [[name, one] as const] : [],
  );
  const named = having.map(([name]) => name).join(", ");
  const [chosen, ...others] = having.filter(([name]) => service === undefined || name === service);
  if (chosen === undefined) {
    const which = service === undefined ? "No service" : `There is no service ${JSON.stringify(service)} that`;
    const hint = named === "" ? "" : ` Those that have one: ${named}.`;
    throw new CommandError(`${which} has an environment in ${file}.${hint}`, exitCodes.refused);
  }
  if (others.length > 0)
    throw new CommandError(
      `Several services have an environment in ${file}: ${named}. Choose one: --service ${chosen[0]}`,
      exitCodes.usage,
    );
  return variablesOfService(chosen[1]);
}

function variablesOfService(service: JsonObject): FoundVariables {
  const found = new VariableCollector();
  const { environment = {} } = service;
  const entries: (readonly [string, JsonValue | undefined])[] = [];
  if (isJsonObject(environment)) entries.push(...Object.entries(environment));
  else if (!Array.isArray(environment)) found.problems.push("environment is neither a map nor a list.");
  else
    for (const item of environment) {
      const [, name, text] = /^([^=]*)(?:=([\s\S]*))?$/.exec(typeof item === "string" ? item : "") ?? [];
      if (name === undefined || name === "") found.problems.push("environment has an item that is not NAME=value.");
      else entries.push([name, text]);
    }
  for (const [name, value] of entries) {
    if (value === undefined || value === null)
      found.notes.push(`${name} is left out: it has no text here, and comes from the environment of compose.`);
    else addText(found, name, value);
  }
  if (service["env_file"] !== undefined)
    found.notes.push("env_file is left out: import that file too, before this one, whose texts count.");
  const unescaped = found.found.variables.map(variable => {
    // In compose files, $$ is one $ that refers to nothing.
    found.noteReference({ ...variable, text: variable.text.replaceAll("$$", "") });
    return { ...variable, text: variable.text.replaceAll("$$", "$") };
  });
  return { ...found.found, variables: unescaped };
}

function addText(found: VariableCollector, name: string, value: JsonValue): void {
  if (typeof value === "object") found.problems.push(`${name} is no text, so it cannot be a variable.`);
  else found.add({ name, text: String(value) });
}
