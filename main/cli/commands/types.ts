import { writeFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import { addHomeOption } from "../command-options.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { print, printFailure, printValue } from "../output/terminal.ts";
import { type Language, languages } from "../types/languages.ts";

interface TypesOptions {
  readonly home?: string;
  readonly lang: Language;
  readonly output?: string;
  readonly package: string;
  readonly check?: boolean;
}

/** `repoconf types`: the types of the values of scopes, for programs in other languages. Needs no daemon. */
export function addTypesCommand(program: Command): void {
  addHomeOption(program.command("types"))
    .summary("print the types of your fields for TypeScript, Python or Go")
    .description(
      "print the types of your fields for TypeScript, Python or Go\n\nThey come from the scopes in .repoconf/scopes of the work tree; if it has none, or with --home, from those of the home. The same schemas always give the same text. For TypeScript they extend ConfigScopes of repoconf/client, for Python they are TypedDicts, for Go structs. Needs no daemon.",
    )
    .addOption(new Option("--lang <language>", "the language").choices(languages).makeOptionMandatory())
    .option("--output <file>", "write to this file instead of standard output")
    .option("--check", "with --output: write nothing, and exit with code 3 unless the file has this text, for CI")
    .option("--package <name>", "for Go: the name of the package", "config")
    .action(types);
}

async function types(options: TypesOptions): Promise<void> {
  const { output, lang } = options;
  if (options.check && output === undefined) throw new CommandError("--check needs --output FILE.", exitCodes.usage);
  if (!/^[a-z][a-z0-9]*$/.test(options.package))
    throw new CommandError("--package takes lower case letters and digits, as Go's packages have.", exitCodes.usage);
  const { scopes, problems } = await readScopes(options.home);
  for (const { file, problem } of problems)
    printFailure(`${file}:${problem.line ?? 1}:${problem.column ?? 1}: ${problem.message}`);
  // Types without the invalid scopes would be worse than the existing ones.
  if (problems.length > 0) {
    process.exitCode = exitCodes.refused;
    return;
  }
  const { typeOfScope } = await import("../types/type-of-schema.ts");
  const { writeTypes } = await import("../types/languages.ts");
  const typed = [...scopes.all()]
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, schema }) => {
      const text = [schema.title, schema.description].filter(one => one !== undefined).join("\n");
      return { name, text, type: typeOfScope(schema) };
    });
  const text = writeTypes(typed, lang, options.package);
  if (output === undefined) return printValue(text);
  if (options.check) {
    const { readNamedFile } = await import("../system/named-file.ts");
    if ((await readNamedFile(output)) === text) return;
    const again = `repoconf types --lang ${lang} --output ${output}`;
    throw new CommandError(`${output} is not what the schemas say now. To write it: ${again}`, exitCodes.refused);
  }
  const { makeOutputFile } = await import("../output/output-file.ts");
  await makeOutputFile(output, true, file => writeFile(file, text));
  print(`Wrote ${output}`);
}

/** The scopes of the work tree, if it has any and no home is named; else those of the home. */
async function readScopes(home: string | undefined) {
  const { findInTreeFile } = await import("../../check/work-tree-file.ts");
  const { readScopesIn, readWorkTreeScopes } = await import("../../check/work-tree-scopes.ts");
  const { homeAt, homeFolder } = await import("../../home/home.ts");
  if (home === undefined) {
    const found = await readWorkTreeScopes((await findInTreeFile(process.cwd())).folder);
    if (found.files.length + found.problems.length > 0) return found;
  }
  return readScopesIn(homeAt(homeFolder(home)).scopes);
}
