import type { Command } from "commander";
import { addHomeOption, addJsonOption, type OutputOptions } from "../command-options.ts";
import type { Finding } from "../doctor/finding.ts";
import { exitCodes } from "../output/exit-codes.ts";
import { isTerminal, print, printBeside, printJson, printTable, showProgress, style } from "../output/terminal.ts";

interface DoctorOptions extends OutputOptions {
  readonly home?: string;
  readonly rewrite?: string;
  readonly dismiss?: string;
}

/** `repoconf doctor`: reports problems of the home and how to fix them. Without options, it starts no daemon and changes nothing. */
export function addDoctorCommand(program: Command): void {
  addJsonOption(addHomeOption(program.command("doctor")))
    .summary("diagnose problems with the home and say how to fix them")
    .description(
      "Diagnose problems with the home and say how to fix them. Works with or without a running daemon, starts none and changes nothing. Exits with code 0 if there is no problem (notes are not problems), else with 1.",
    )
    .option(
      "--rewrite <repository>",
      "only recreate the missing file of this repository from the values in a running daemon",
    )
    .option(
      "--dismiss <id>",
      "only dismiss something that was found, by its id, or everything (all): it is not told any more; starts a daemon if none is running",
    )
    .action(doctor);
}

async function doctor(options: DoctorOptions): Promise<void> {
  if (options.rewrite !== undefined) {
    const { rewriteRepository } = await import("../doctor/rewrite.ts");
    const done = await rewriteRepository(options.rewrite, options);
    return options.json ? printJson({ done }) : print(done);
  }
  if (options.dismiss !== undefined) {
    const { dismissFindings } = await import("../doctor/dismiss.ts");
    const done = await dismissFindings(options.dismiss, options);
    return options.json ? printJson({ done }) : print(done);
  }
  const findings = await examine(options);
  const problems = findings.filter(({ result }) => result === "problem").length;
  const notes = findings.filter(({ result }) => result === "note").length;
  if (options.json) printJson({ problems, notes, findings });
  else await printFindings(findings, problems, notes);
  if (problems > 0) process.exitCode = exitCodes.failed;
}

async function examine(options: DoctorOptions): Promise<Finding[]> {
  const [
    { homeOf },
    homeCheck,
    daemonCheck,
    fileCheck,
    repositoriesCheck,
    { checkJournals },
    { checkWatching },
    diskCheck,
  ] = await Promise.all([
    import("../connect/session.ts"),
    import("../doctor/home-check.ts"),
    import("../doctor/daemon-check.ts"),
    import("../doctor/home-files-check.ts"),
    import("../doctor/repositories-check.ts"),
    import("../doctor/journal-check.ts"),
    import("../doctor/watch-check.ts"),
    import("../doctor/disk-check.ts"),
  ]);
  const home = homeOf(options);
  const { there, finding } = await homeCheck.checkHome(home);
  if (!there) return [finding];
  const rights = await homeCheck.checkRights(home);
  const daemon = await daemonCheck.checkDaemon(home);
  const disk = await diskCheck.checkDisk(home);
  if (!rights.isReadable) return [finding, ...disk, ...rights.findings, daemon.finding];
  const keys = await homeCheck.checkKeys(home, daemon.endpoint?.pid);
  const settings = await fileCheck.checkSettings(home);
  const port = await daemonCheck.checkPort(daemon.endpoint, settings.port);
  const socket = await daemonCheck.checkSocket(home, daemon.endpoint);
  const { findings: scopeFindings, scopes } = await fileCheck.checkScopes(home);
  // If the daemon rejects the key, the checks use the index instead.
  const served =
    daemon.endpoint &&
    (await daemonCheck.askDaemon(home).catch(error => {
      if (!keys.some(({ result }) => result === "problem")) keys.push(...homeCheck.describeRefusedKey(home, error));
      return undefined;
    }));
  const { findings, heads, treeFolders } = await repositoriesCheck.checkRepositories(home, {
    scopes,
    served: served?.entries,
    onProgress: (done, all) => onProgress(done, all, "repositories"),
  });
  const journals = await checkJournals(home, {
    running: daemon.held,
    onProgress: (done, all) => onProgress(done, all, "journals"),
  });
  showProgress("");
  const watching = await checkWatching(home, treeFolders);
  const told = await daemonCheck.checkFindings(home, served, heads);
  const refusals = served === undefined ? [] : daemonCheck.checkRefusals(served);
  const variables = served === undefined ? [] : daemonCheck.checkVariables(served);
  const merges = served === undefined ? [] : daemonCheck.checkMerges(home, served);
  const unwritten = served === undefined ? [] : diskCheck.checkUnwritten(served);
  const own = [
    finding,
    ...disk,
    ...rights.findings,
    ...keys,
    daemon.finding,
    port,
    ...socket,
    ...variables,
    ...refusals,
    settings.finding,
  ];
  const all = [...own, ...scopeFindings, ...findings, ...unwritten, ...merges, ...told, ...journals, watching];
  return served === undefined ? all : [...all, ...daemonCheck.checkProblems(served, all)];
}

function onProgress(done: number, all: number, what: string): void {
  if (done % 100 === 0) showProgress(`${done} of ${all} ${what}`);
}

async function printFindings(findings: readonly Finding[], problems: number, notes: number): Promise<void> {
  const { counted } = await import("../doctor/finding.ts");
  const colours = { good: "green", note: "yellow", problem: "red" } as const;
  if (isTerminal()) {
    const indent = " ".repeat(9);
    for (const finding of findings) {
      const { check, result, action } = finding;
      const head = `${style(colours[result], result.padEnd(7))}  ${style("bold", check)}  `;
      // A long sentence begins beside the check, and goes on below it.
      printBeside(head, indent.length, sentence(finding), check.length + 2);
      if (action !== undefined) printBeside(indent, indent.length, action);
    }
  } else {
    const rows = findings.map(finding => [finding.result, finding.check, sentence(finding), finding.action ?? ""]);
    printTable([], rows);
  }
  const counts = [problems > 0 ? counted(problems, "problem") : "", notes > 0 ? counted(notes, "note") : ""];
  const summary = counts.filter(count => count !== "").join(", ");
  print(problems > 0 ? `${summary}.` : `No problems found${summary === "" ? "" : ` (${summary})`}.`);
}

/** Starts with the position, like compiler errors, which editors and terminals turn into links. */
function sentence({ file, line, column, message }: Finding): string {
  if (file === undefined) return message;
  return `${file}${line === undefined ? "" : `:${line}:${column ?? 1}`}: ${message}`;
}
