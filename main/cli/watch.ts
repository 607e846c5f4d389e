import type { Command } from "commander";
import type { WatchMessage } from "../../shared/client/watch.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import { describeProblem } from "../../shared/health.ts";
import {
  addJsonOption,
  addRepositoryOption,
  addSessionOptions,
  type OutputOptions,
  type RepositoryOptions,
  type SessionOptions,
} from "./command-options.ts";
import { type Fields, listFields, showValue } from "./fields.ts";
import { print, printNote, visible } from "./terminal.ts";

interface WatchOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly all?: boolean;
  readonly reveal?: boolean;
}

/** `repoconf watch`: changes as they happen, until Ctrl+C. */
export function addWatchCommand(program: Command): void {
  addJsonOption(addRepositoryOption(addSessionOptions(program.command("watch"))))
    .description("print changes as they happen, until Ctrl+C; with --json a line each")
    .option("--all", "every repository, and what happens to repositories, scopes and keys")
    .option("--reveal", "show masked values")
    .action(watch);
}

async function watch(options: WatchOptions): Promise<void> {
  const { withSession } = await import("./session.ts");
  const { chooseRepository, listRepositories } = await import("./repositories.ts");
  await withSession(options, async ({ client }) => {
    const repository = options.all ? undefined : await chooseRepository(client, options.repo);
    const fields = await listFields(client);
    const names = new Map((await listRepositories(client)).map(({ id, name }) => [id, name]));
    const stop = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
    // Whoever reads our output may leave first, as head does.
    process.stdout.once("error", () => stop.abort());
    const what = repository === undefined ? "all repositories" : `${repository.name} (${repository.id})`;
    if (process.stderr.isTTY) printNote(`Watching ${what}. Ctrl+C ends it.`);
    for await (const message of client.watchEverything({ signal: stop.signal })) {
      if (options.json) print(JSON.stringify({ resource: message[0], event: message[1], payload: message[2] }));
      else for (const line of describe(message, fields, names, options)) print(line);
    }
  });
}

function describe(
  message: WatchMessage,
  fields: Fields,
  names: ReadonlyMap<string, string>,
  options: WatchOptions,
): string[] {
  switch (message[0]) {
    case "config": {
      const { repo, revision, time, actor, source, reason, changes } = message[2];
      // A hand edit is said as one; `merge` is one that a set found on its way.
      const by = actor === "file" ? "by hand" : `by ${visible(actor)} (${source})`;
      const why = reason === undefined ? "" : `: ${visible(reason)}`;
      const head = `${time}  ${visible(names.get(repo) ?? repo)}  revision ${revision}  ${by}${why}`;
      const lines = Object.entries(changes).flatMap(([scope, values]) =>
        Object.entries(values).map(([field, { value, previous, stored }]) => {
          const path = joinConfigPath(scope, field);
          const show = (shown: typeof value) => visible(showValue(shown, fields.get(path), options.reveal === true));
          return `  ${path}: ${show(previous)} -> ${show(value)}${stored ? "" : " (default)"}`;
        }),
      );
      return [head, ...lines];
    }
    case "repo": {
      const [, event, { id, name, health }] = message;
      const problems = health.map(problem => `  ${describeProblem(problem)}`);
      return event === "health"
        ? [`${id} ${visible(name)}: ${health.length === 0 ? "well again" : "has problems"}`, ...problems]
        : [`${id} ${visible(name)}: ${event}`];
    }
    case "scope":
      return [`scope ${message[2].scope}: changed`];
    case "key":
      return ["keys changed"];
    case "connection": {
      if (message[1] === "lost") return ["connection lost; trying again"];
      const { lost } = message[2];
      return [lost.length === 0 ? "connected again" : `connected again; not known of: ${lost.join(", ")}`];
    }
  }
}
