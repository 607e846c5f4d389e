import { type Command, InvalidArgumentError, Option } from "commander";
import type { Grants, Right } from "../../../shared/grants.ts";
import { addJsonOption, addSessionOptions, type OutputOptions, type SessionOptions } from "../command-options.ts";
import { chooseRepository } from "../connect/repositories.ts";
import { CommandError } from "../output/exit-codes.ts";
import { print, printJson, printNote, printTable } from "../output/terminal.ts";

interface CreateOptions extends SessionOptions, OutputOptions {
  readonly repo?: readonly string[];
  readonly field?: readonly string[];
  readonly right: Right;
  readonly expires?: string;
  readonly audited?: boolean;
}

/** `repoconf key create|list|revoke`: API keys for tools. */
export function addKeyCommand(program: Command): void {
  const key = program.command("key").description("manage API keys for tools, and what they may read and write");
  addJsonOption(addSessionOptions(key.command("create")))
    .argument("<name>", "what the key is for; the history shows this name")
    .description("create a key and print it; it is shown only once")
    .option("--repo <repository...>", "id or name of the repositories it may access (default: all)")
    .option("--field <pattern...>", "svc.timeout, svc.proxy_*, svc.* (default: all)")
    .addOption(new Option("--right <right>", "what it may do").choices(["read", "write"]).default("read"))
    .option(
      "--expires <time>",
      "when it expires: a time such as 2027-01-31T12:00:00Z, or a duration such as 12h or 30d",
      parseExpiry,
    )
    .option("--audited", "write each of its requests into the audit file, as keys of agents must be")
    .action(create);
  addJsonOption(addSessionOptions(key.command("list")))
    .description("list the keys")
    .action(list);
  addJsonOption(addSessionOptions(key.command("revoke")))
    .argument("<key>", "id or name")
    .description("revoke a key immediately")
    .action(revoke);
}

function parseExpiry(text: string): string {
  const span = /^(\d{1,6})([hd])$/.exec(text);
  if (span !== null) {
    const hours = Number(span[1]) * (span[2] === "d" ? 24 : 1);
    return new Date(Date.now() + hours * 3_600_000).toISOString();
  }
  if (Number.isNaN(Date.parse(text))) throw new InvalidArgumentError("Write 2027-01-31T12:00:00Z, or 12h, or 30d.");
  return text;
}

async function create(name: string, options: CreateOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  await withSession(options, async ({ client }) => {
    const named = options.repo ?? [];
    const repos = await Promise.all(named.map(async repo => (await chooseRepository(client, repo)).id));
    const grants: Grants = [
      { repos: named.length === 0 ? "*" : repos, fields: options.field ?? ["*"], right: options.right },
    ];
    const { key, ...entry } = await client.run("key/create", {
      name,
      grants,
      ...(options.expires !== undefined && { expires: options.expires }),
      ...(options.audited && { audited: true }),
    });
    if (options.json) return printJson({ ...entry, key });
    printNote(`The key of ${entry.name} (${entry.id}). It is shown only once; tools read it from REPOCONF_API_KEY.`);
    print(key);
  });
}

async function list(options: SessionOptions & OutputOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  await withSession(options, async ({ client }) => {
    const keys = await client.run("key/list", { limit: 1_000 });
    if (options.json) return printJson(keys);
    if (keys.length === 0)
      printNote("There are no keys but the owner's. Create one for a tool: repoconf key create NAME");
    const rows = keys.map(({ id, name, grants, expires, kind, usedAt, connections }) => [
      id,
      name,
      grants.map(describeGrant).join("; "),
      kind === "session" ? "when the daemon stops, or after 12 hours without use" : (expires ?? "never"),
      connections > 0 ? "now" : (usedAt ?? "never"),
    ]);
    printTable(["ID", "NAME", "RIGHTS", "EXPIRES", "LAST USED"], rows);
  });
}

function describeGrant({ repos, fields, right }: Grants[number]): string {
  return `${right} ${fields.join(", ")} in ${repos === "*" ? "all" : repos.join(", ")}`;
}

async function revoke(named: string, options: SessionOptions & OutputOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  await withSession(options, async ({ client }) => {
    const keys = await client.run("key/list", { limit: 1_000 });
    const [first, ...more] = keys.filter(key => key.name === named);
    const isId = keys.some(key => key.id === named);
    if (!isId && more.length > 0) {
      const message = `"${named}" names ${more.length + 1} keys or sessions. Use an id instead: repoconf key list`;
      throw new CommandError(message);
    }
    const id = isId ? named : (first?.id ?? named);
    await client.run("key/revoke", { id });
    if (options.json) printJson({ id });
    else print(`Revoked the key ${named}.`);
  });
}
