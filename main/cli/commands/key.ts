import { type Command, InvalidArgumentError, Option } from "commander";
import { splitConfigPath } from "../../../shared/config-path.ts";
import { type Grants, keyRights, patternCovers, type Right } from "../../../shared/grants.ts";
import { addJsonOption, addSessionOptions, type OutputOptions, type SessionOptions } from "../command-options.ts";
import { listFields, nearest } from "../connect/fields.ts";
import { chooseRepository } from "../connect/repositories.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { print, printJson, printNote, printTable } from "../output/terminal.ts";

interface CreateOptions extends SessionOptions, OutputOptions {
  readonly repo?: readonly string[];
  readonly field?: readonly string[];
  readonly right: Right;
  readonly read?: readonly string[];
  readonly write?: readonly string[];
  readonly reveal?: boolean;
  readonly commands?: boolean;
  readonly expires?: string;
  readonly audited?: boolean;
}

/** `repoconf key create|list|revoke`: API keys for tools. */
export function addKeyCommand(program: Command): void {
  const key = program.command("key").description("manage API keys for tools, and what they may read and write");
  addJsonOption(addSessionOptions(key.command("create")))
    .argument("<name>", "what the key is for; the history shows this name")
    .summary("create a key and print it; it is shown only once")
    .description(
      "create a key and print it; it is shown only once\n\n  repoconf key create ci --repo shop --read 'svc.*' --write 'deploy.*'\n\nWithout --reveal and --commands, the key sees only that masked values and secrets are there, and what it sets as a command or an environment variable waits until you accept it (repoconf trust).",
    )
    .option("--repo <repository...>", "id or name of the repositories it may access (default: all)")
    .option("--read <pattern...>", "fields that it may read: svc.timeout, svc.proxy_*, svc.*, or *")
    .option("--write <pattern...>", "fields that it may read and write, likewise")
    .option(
      "--field <pattern...>",
      "fields of the one grant that is given by --right, instead of --read and --write (default: all)",
    )
    .addOption(new Option("--right <right>", "what it may do with --field").choices(["read", "write"]).default("read"))
    .option("--reveal", "it may see masked values and secrets, and change parts of them")
    .option("--commands", "it may set commands and environment variables, instead of proposing them")
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

async function create(name: string, options: CreateOptions, command: Command): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const { read, write, field, right } = options;
  const isSplit = read !== undefined || write !== undefined;
  if (isSplit && (field !== undefined || command.getOptionValueSource("right") === "cli"))
    throw new CommandError("Give --read and --write, or --field and --right, but not both.", exitCodes.usage);
  await withSession(options, async ({ client }) => {
    const named = options.repo ?? [];
    const ids = await Promise.all(named.map(async repo => (await chooseRepository(client, repo)).id));
    const repos = named.length === 0 ? ("*" as const) : ids;
    const grantsOf = (one: Right, fields: readonly string[] | undefined): Grants =>
      fields === undefined ? [] : [{ repos, fields, right: one }];
    const grants = isSplit ? [...grantsOf("read", read), ...grantsOf("write", write)] : grantsOf(right, field ?? ["*"]);
    const known = [...(await listFields(client)).keys()];
    const { key, ...entry } = await client.run("key/create", {
      name,
      grants,
      rights: keyRights.filter(one => options[one]),
      ...(options.expires !== undefined && { expires: options.expires }),
      ...(options.audited && { audited: true }),
    });
    for (const pattern of grants.flatMap(({ fields }) => fields))
      if (!known.some(path => patternCovers(pattern, path))) warnOfNothing(pattern, known);
    if (options.json) return printJson({ ...entry, key });
    printNote(`The key of ${entry.name} (${entry.id}). It is shown only once; tools read it from REPOCONF_API_KEY.`);
    print(key);
  });
}

/** The field may come with a scope that is added later, so the key is made all the same. */
function warnOfNothing(pattern: string, known: readonly string[]): void {
  const like = known.find(path => splitConfigPath(path)?.field === pattern) ?? nearest(pattern, known);
  const hint = like === undefined ? "To list all fields: repoconf describe" : `Did you mean "${like}"?`;
  printNote(`No field matches "${pattern}", so the key may do nothing by it. ${hint}`);
}

async function list(options: SessionOptions & OutputOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  await withSession(options, async ({ client }) => {
    const keys = await client.run("key/list", { limit: 1_000 });
    if (options.json) return printJson(keys);
    if (keys.length === 0)
      printNote("There are no keys but the owner's. Create one for a tool: repoconf key create NAME");
    const rows = keys.map(({ id, name, grants, rights, expires, kind, usedAt, connections }) => [
      id,
      name,
      [...grants.map(describeGrant), ...rights].join("; "),
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
