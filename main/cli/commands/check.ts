import { relative, sep } from "node:path";
import { type Command, Option } from "commander";
import { visible } from "../../../shared/visible.ts";
import type { RatedProblem } from "../../check/check-file.ts";
import { addJsonOption, type OutputOptions } from "../command-options.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { isTerminal, print, printJson, printNote, style } from "../output/terminal.ts";

interface CheckOptions extends OutputOptions {
  readonly format: "text" | "json" | "github";
  readonly strict?: boolean;
}

/** `repoconf check`: reports problems in a work tree's file, for hooks and CI. Needs no daemon, home or key, and writes nothing. */
export function addCheckCommand(program: Command): void {
  addJsonOption(program.command("check"))
    .argument("[path...]", "files or folders (default: the .repoconf.json of the work tree that contains this folder)")
    .summary("check a work tree's .repoconf.json, without a daemon")
    .description(
      "check a work tree's .repoconf.json, without a daemon\n\nFor CI and hooks: it needs no daemon, home, key or network, and writes nothing. So it knows nothing of local values, which are in the home. It reports each problem with its file, line and column, and exits with code 3 if there is an error, else with 0. Fields come from the svc scope and from the schemas in .repoconf/scopes next to the file. Invalid values and unknown fields are errors; unknown scopes and unused members are warnings.",
    )
    .addOption(
      new Option("--format <format>", "output format: text, json, or github (annotations in a GitHub workflow)")
        .choices(["text", "json", "github"])
        .default("text"),
    )
    .option("--strict", "exit with code 3 for warnings too")
    .action(check);
}

async function check(named: readonly string[], options: CheckOptions): Promise<void> {
  const { checkFile } = await import("../../check/check-file.ts");
  const files = await filesOf(named);
  const problems: RatedProblem[] = [];
  let checked = 0;
  for (const file of files) {
    const { problems: found, exists } = await checkFile(file);
    if (exists) checked += 1;
    else printNote(`Nothing to check: there is no ${shown(file.path)} and no schema next to it.`);
    problems.push(...found);
  }
  const format = options.json ? "json" : options.format;
  if (format === "json") printJson(problems.map(asJson));
  else if (format === "github") for (const problem of problems) print(annotation(problem));
  else printText(problems, checked);
  if (problems.some(({ isError }) => isError || options.strict === true)) process.exitCode = exitCodes.refused;
}

async function filesOf(named: readonly string[]) {
  const { findInTreeFile, namedFile } = await import("../../check/work-tree-file.ts");
  if (named.length === 0) return [await findInTreeFile(process.cwd())];
  const files = await Promise.all(
    named.map(async path => {
      const file = await namedFile(path);
      if (file === undefined) throw new CommandError(`${path} does not exist.`);
      return file;
    }),
  );
  // Arguments may name a folder's file and also one of its schemas.
  return [...new Map(files.map(file => [file.path, file])).values()];
}

/** In the format of compiler errors, which editors and terminals turn into links. */
function printText(problems: readonly RatedProblem[], files: number): void {
  for (const { file, problem, isError } of problems) {
    const { line = 1, column = 1, message } = problem;
    const word = isError ? style("red", "error") : style("yellow", "warning");
    print(`${shown(file)}:${line}:${column}: ${word}: ${message}`);
  }
  if (problems.length === 0 && files > 0 && isTerminal())
    print(files === 1 ? "No problems found." : `No problems found in ${files} files.`);
}

function asJson({ file, problem, isError }: RatedProblem) {
  const { line = 1, column = 1, code, field, message } = problem;
  const severity = isError ? "error" : "warning";
  return { file: shown(file), line, column, severity, code, ...(field !== undefined && { field }), message };
}

/** A GitHub workflow command. Its path is relative to the repository's folder, regardless of the step's working directory. */
function annotation({ file, problem, isError }: RatedProblem): string {
  const { line = 1, column = 1, message } = problem;
  const place = shown(file, process.env["GITHUB_WORKSPACE"] || process.cwd());
  const properties = `file=${escapedProperty(place)},line=${line},col=${column}`;
  return `::${isError ? "error" : "warning"} ${properties}::${escapedData(message)}`;
}

/** Escapes like https://github.com/actions/toolkit: line ends, and the escape character itself. */
function escapedData(text: string): string {
  return visible(text).replaceAll("%", "%25");
}

function escapedProperty(text: string): string {
  return escapedData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

/** The path relative to `from`, with forward slashes, if the file is below it; else the path unchanged. */
function shown(file: string, from = process.cwd()): string {
  const path = relative(from, file);
  return path.startsWith("..") || path === "" ? file : path.split(sep).join("/");
}
