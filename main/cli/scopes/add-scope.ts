import { basename, join } from "node:path";
import { exactText } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import { joinPointer, pointerTokens } from "../../../shared/value-edit.ts";
import { visible } from "../../../shared/visible.ts";
import { readSchema } from "../../check/offered-scopes.ts";
import type { JsonText } from "../../files/json-text.ts";
import {
  describePlace,
  locateFaults,
  mostFaults,
  type SchemaFault,
  ScopeSchemaError,
} from "../../scopes/schema-faults.ts";
import { compileScope, type Scope } from "../../scopes/scopes.ts";
import { showDifference } from "../change/show-difference.ts";
import type { OutputOptions, SessionOptions } from "../command-options.ts";
import { withSession } from "../connect/session.ts";
import { describeType, resolvedSchema } from "../output/describe-schema.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { confirmOrThrow, print, printJson, printNote, printTable } from "../output/terminal.ts";
import { readNamedFile } from "../system/named-file.ts";
import { type BundledSchema, bundleSchema, ownAddress, parsed } from "./bundle-schema.ts";
import { copyToHome, notesOf, reviewScope, showEffects } from "./trust-scopes.ts";

export interface AddScopeOptions extends SessionOptions, OutputOptions {
  readonly name?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** `repoconf scope add FILE`: makes a scope of a JSON Schema, after showing its fields. Throws CommandError with all its problems. */
export async function addScope(path: string, options: AddScopeOptions): Promise<void> {
  const [first = ""] = basename(path)
    .split(".")
    .filter(part => part !== "");
  const scope = options.name ?? first;
  const { text, compiled, value } = await readScope(path, scope);
  await withSession(options, async ({ client, home }) => {
    const homeFile = join(home.scopes, `${scope}.schema.json`);
    const one = { scope, file: path, text, value, homeFile, serving: await readSchema(homeFile) };
    const reviewed = await reviewScope(client, one, compiled);
    const { schema, required, notes } = compiled;
    if (!options.json) {
      const rows = Object.entries(schema.properties).map(([field, own]) => {
        const { default: value, title = "" } = own;
        const shown =
          value === null ? (required.includes(field) ? "not set, but required" : "not set") : exactText(value);
        return [`${scope}.${field}`, describeType(resolvedSchema(own, schema)), shown, title];
      });
      printTable(["FIELD", "TAKES", "DEFAULT", "TITLE"], rows);
      for (const note of notesOf(scope, compiled)) printNote(`${path}: ${note}.`);
      if (one.serving !== null)
        showDifference(`the scope ${scope}, which it replaces`, one.serving, value, reviewed.hash);
      await showEffects(client, reviewed.effects);
    }
    const outcome = { scope, file: homeFile, fields: Object.keys(schema.properties), required, notes };
    if (options.dryRun) return options.json ? printJson(outcome) : print("Nothing was added (--dry-run).");
    const verb = one.serving === null ? "Add" : "Replace";
    if (!options.yes) await confirmOrThrow(`${verb} the scope ${scope}, for all repositories?`, "Nothing was added.");
    await copyToHome(client, home, reviewed, options.json === true);
    if (options.json) printJson(outcome);
  });
}

async function readScope(path: string, scope: string) {
  const text = await readNamedFile(path);
  const json = parsed(path, text);
  const address = ownAddress(path, json.value);
  // Of a whole file, `$id` counts in each draft (schema-ids.ts).
  const whole = address === undefined ? json.value : { ...json.value, $id: address };
  const bundled = path === "-" ? undefined : await bundleSchema(path, whole);
  const value = bundled?.value ?? whole;
  try {
    const compiled: Scope = compileScope(scope, value);
    if (address !== undefined)
      printNote(`${path}: it has no $id, and its references name it ${address}, so this is taken for its $id.`);
    const written = value === json.value ? text : `${JSON.stringify(value, null, 2)}\n`;
    if (Buffer.byteLength(written) > limits.scopeBytes)
      throw new ScopeSchemaError(`it has more than ${limits.scopeBytes} bytes`);
    return { text: written, value, compiled };
  } catch (error) {
    if (!(error instanceof ScopeSchemaError)) throw error;
    const shown = error.faults
      .slice(0, mostFaults)
      .map(fault => `  ${visible(describeFault(fault, path, json, bundled))}`);
    const more = error.faults.length - shown.length;
    if (more > 0) shown.push(`  and ${more} more`);
    throw new CommandError([`${path} cannot be a scope:`, ...shown].join("\n"), exitCodes.refused);
  }
}

/** With its place in the file, which may be one that was bundled. */
function describeFault(fault: SchemaFault, path: string, json: JsonText, bundled: BundledSchema | undefined): string {
  const [defs, name = "", ...rest] = pointerTokens(fault.pointer);
  const file = defs === "$defs" ? bundled?.files.get(name) : undefined;
  const own = file === undefined ? fault : { ...fault, pointer: joinPointer(rest) };
  const places = locateFaults([own], file?.json ?? json).map(describePlace);
  return `${file?.path ?? path}, ${places.join()}: ${fault.message}`;
}
