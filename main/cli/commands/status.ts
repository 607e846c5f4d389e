import type { Command } from "commander";
import type { DaemonStatus } from "../../../shared/protocol.ts";
import { addConnectionOptions, addJsonOption, type OutputOptions, type SessionOptions } from "../command-options.ts";

/** `repoconf status`: shows the status of the running daemon. Starts none. */
export function addStatusCommand(program: Command): void {
  addJsonOption(addConnectionOptions(program.command("status")))
    .description("show the daemon's status")
    .action(status);
}

/** How many repositories with problems are listed by name. */
const maximumNamed = 5;

function describeLog({ name, servers, replicas }: NonNullable<DaemonStatus["log"]>): string {
  const copies = replicas === 1 ? "1 server stores" : `${replicas} servers store`;
  return `${name} at ${servers.join(", ")}${replicas === undefined ? "" : `; ${copies} each change`}`;
}

async function status(options: Omit<SessionOptions, "start"> & OutputOptions): Promise<void> {
  const { describeRefusals } = await import("../output/messages.ts");
  const { withSession } = await import("../connect/session.ts");
  const { printBeside, printJson } = await import("../output/terminal.ts");
  await withSession({ ...options, start: false }, async ({ client }) => {
    const found = await client.run("daemon/status", {});
    if (options.json) return printJson(found);
    const {
      version,
      protocol,
      startedAt,
      home,
      url,
      pid,
      repositories,
      log,
      sockets,
      refusals = {},
      problems = [],
      findings = [],
      indexing,
    } = found;
    // The problems are not known until all files have been read.
    const isKnown = indexing === undefined;
    const broken = isKnown ? await client.run("config/search", { query: "@broken", limit: maximumNamed + 1 }) : [];
    const isNamed = broken.length > 0 || findings.some(({ repo }) => repo !== undefined);
    const names = new Map(isNamed ? (await client.repositories()).map(({ id, name }) => [id, name]) : []);
    const named = broken.map(({ repo }) => names.get(repo) ?? repo);
    if (named.length > maximumNamed) named.splice(maximumNamed, 1, "others");
    const refused = describeRefusals(refusals);
    const lines: readonly (readonly [string, unknown])[] = [
      ["version", `${version} (protocol ${protocol})`],
      ["since", startedAt],
      ["url", url],
      ["home", home],
      ["pid", pid],
      ["shared log", log && describeLog(log)],
      ["repositories", repositories === 0 ? "0; to add one: repoconf repo add" : repositories],
      ["reading", indexing && `${indexing.done} of ${indexing.total} new or changed files`],
      // Users would wonder about a client that they did not start.
      ["clients", sockets === undefined ? undefined : `${sockets}, including this command`],
      ["rejected", refused === "" ? undefined : `${refused}; the daemon's log lists each one`],
    ];
    const say = (name: string, text: string) => printBeside(`${name.padEnd(13)} `, 14, text);
    for (const [name, value] of lines) if (value !== undefined) say(name, String(value));
    // Those about the home are also among the problems.
    const told = new Set(findings.map(({ message }) => message));
    for (const problem of problems) if (!told.has(problem)) say("problem", problem);
    for (const { id, repo, message } of findings)
      say("found", `${id}: ${repo === undefined ? "" : `in ${names.get(repo) ?? repo}: `}${message}`);
    if (findings.length > 0) say("", "Once you have read it: repoconf doctor --dismiss ID, or all");
    if (named.length > 0)
      say("problem", `in the configuration of ${named.join(", ")}; for details and fixes: repoconf doctor`);
  });
}
