/** Generates docs/cli.md from the commands; with --check, only compares and exits with code 1 if it is out of date. */
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Command, type Option } from "commander";
import { addJsonOption, addRepositoryOption, addSessionOptions } from "../main/cli/command-options.ts";
import { createProgram } from "../main/cli/program.ts";

const path = resolve(import.meta.dirname, "../docs/cli.md");

const introduction = `# Command line

<!-- Made by "npm run docs" from the commands and scripts/cli-reference.ts. Do not edit. -->

\`repoconf COMMAND --help\` prints the same text for one command.

## How commands work

**Which repository.** By default, the repository whose folder contains the current folder; if several do, the innermost one. A linked git worktree has
values of its own if its repository is in-tree: see [worktrees](worktrees.md). \`--repo\` selects another repository by id, or by name if the
name is unique.

**Where options go.** After the command. Options that most commands share may also come before it:
\`repoconf --json list\`.

**Which daemon.** The daemon of the home: \`--home\`, then \`REPOCONF_HOME\`, then the system's folder for application
data. A relative \`--home\` starts in the current folder. Variables (\`REPOCONF_HOME\`, \`XDG_DATA_HOME\`, \`HOME\`) must contain absolute paths, or
the command fails; empty ones count as not set. A command that needs a daemon starts one in the background if none is running; that daemon exits half an hour after its last
client has disconnected. With \`--no-start\`, the command fails instead (exit code 4). Commands without that option never start a daemon, except
\`restart\`. A daemon in the background gets nothing of the terminal's environment but \`HOME\`, \`USER\`, \`LOGNAME\`, \`PATH\`, \`LANG\`, \`LANGUAGE\`,
\`LC_*\`, \`TZ\` and \`TMPDIR\` (on Windows \`USERPROFILE\`, \`APPDATA\`, \`LOCALAPPDATA\`, \`TEMP\` and the system's own). To give it others, such as
\`NODE_OPTIONS\`, run \`repoconf daemon\` in the foreground.

**Debuggers.** If \`NODE_OPTIONS\` opens a debugger in a command or in a daemon in the foreground, it is closed, because every user of
the machine could connect to it. To debug Repoconf, run \`node --inspect\` with the path of the command.

**Which key.** The key in the file given by \`--key-file\`, then \`REPOCONF_API_KEY\`, then the owner's key in the home,
which may do everything. No option accepts the key itself, because other users can see command lines in the process list.

**How values are parsed.** In \`repoconf set FIELD=VALUE\`, the field's schema decides. If it accepts text, VALUE is that
text, unchanged: \`svc.default_port=8080\` sets the text "8080". Otherwise VALUE is JSON: \`svc.timeout=30\`,
\`svc.proxy_http=true\`, \`'svc.proxy_aliases=["a.test"]'\`. If the schema lists the values, VALUE is the one that is written like this.

\`FIELD:=VALUE\` always means JSON. Use it for a field that accepts text and something else, such as null or a number: \`app.note:=null\`
stores null, and \`'app.note:="null"'\` the text "null". \`app.note=null\` is refused if the field accepts both. In output for people, the
text is in quotes, and null is not.

Whole numbers beyond 9007199254740991 that would be rounded are refused, by every command: store them as text.

| value | means |
| --- | --- |
| \`@FILE\` | the contents of the file, without the final newline |
| \`-\` | the contents of standard input, without the final newline |
| \`@@text\` | the literal text \`@text\` |

**Several repositories.** A command that would change values in more than one repository shows them first, with the old and the new
values, and asks. Without a terminal it is refused (exit code 1) unless you pass \`--yes\`. \`undo --batch\` undoes all of it.

**Empty values.** An option whose value is empty, such as \`--repo "$UNSET"\`, is refused (exit code 2), except for \`--reason\`.

**Output.** On a terminal, commands print tables with a header. In a pipe, they print one line per row, with tab-separated cells and
no header. \`--json\` prints one JSON value; use it in programs, because the other forms may change. Colors are used on terminals only;
\`NO_COLOR=1\` turns them off. Results go to standard output and everything else goes to standard error, which stays empty if all is well. Long operations (\`repo scan\`,
\`backup\`, \`--restore\`, \`doctor\`, and a daemon's first read of many files or start after a crash) show their progress there, but only
on a terminal.

Masked values (those of \`svc.envvars\`) are printed only with \`--reveal\`. Without it, other commands print a mask instead, also with \`--json\`, and \`get\` and
\`export\` fail. Values without a schema are masked as well, because their schema may be missing, invalid, or not
read yet. To use masked values, run [\`env\` or \`run\`](shell.md).

Control characters, escape sequences and bidirectional marks in names, values, reasons and messages are printed as JSON escapes (\`\\u001b\`,
\`\\u202e\`), also with \`--json\`, where they mean the same. \`get\` and \`export\` write values unchanged to a pipe or a file, and escape them
on a terminal. Links to the screen are printed only on a terminal, or with \`ui --print\`.

**Exit codes.**

| code | means |
| --- | --- |
| 0 | success |
| 1 | failure without a code of its own; for \`diff --exit-code\` also: there are differences |
| 2 | invalid command line |
| 3 | a field, value or revision was rejected; for \`check\`: the file has problems |
| 4 | no daemon is running, and none could be started or \`--no-start\` was given |
| 5 | the key is invalid or lacks the permission |

Once \`run\` has started a command, its exit code is the command's: 127 if it is not found, 126 if it cannot be run, 128 plus the
signal number if a signal killed it.
`;

/** Options that many commands share: described once, and only listed by name in each command. */
const shared = addJsonOption(addRepositoryOption(addSessionOptions(new Command()))).options;
const sharedTitle = "Shared options";

function describeProgram(program: Command): string {
  const sharedList = shared.map(option => describeItem(option.flags, option.description));
  const sections = [introduction, `## ${sharedTitle}\n\n${sharedList.join("\n")}\n`, "## Commands\n"];
  for (const command of visibleCommands(program)) sections.push(...describeCommand(command, program.name()));
  return sections.join("\n");
}

function describeCommand(command: Command, parent: string): string[] {
  const name = `${parent} ${command.name()}`;
  const subcommands = visibleCommands(command);
  const below = subcommands.flatMap(subcommand => describeCommand(subcommand, name));
  // A command with subcommands that also takes arguments can run by itself, so it gets its own section.
  if (subcommands.length > 0 && command.registeredArguments.length === 0) return below;
  const help = command.createHelp();
  const items = help
    .visibleArguments(command)
    .map(argument => describeItem(help.argumentTerm(argument), help.argumentDescription(argument)));
  const options = command.options.filter(option => !option.hidden);
  for (const option of options.filter(one => !isShared(one))) {
    items.push(describeItem(option.flags, help.optionDescription(option)));
  }
  const sharedNames = options.filter(isShared).map(({ long }) => `\`${long}\``);
  if (sharedNames.length > 0)
    items.push(`- [shared](#${sharedTitle.toLowerCase().replace(" ", "-")}): ${sharedNames.join(", ")}`);
  return [
    `### ${name}\n\n${describe(command)}\n\n\`\`\`\n${name} ${command.usage()}\n\`\`\`\n\n${items.join("\n")}\n`.replace(
      /\n\n\n$/,
      "\n",
    ),
    ...below,
  ];
}

/** The description as Markdown: the first paragraph becomes a sentence, indented paragraphs become code blocks. */
function describe(command: Command): string {
  const [first = "", ...rest] = command.description().split("\n\n");
  const sentence = `${first.charAt(0).toUpperCase()}${first.slice(1)}${first.endsWith(".") ? "" : "."}`;
  const paragraphs = rest.map(text =>
    text.startsWith("  ") ? `\`\`\`\n${text.replace(/^ {2}/gm, "")}\n\`\`\`` : text,
  );
  return [sentence, ...paragraphs].join("\n\n");
}

function describeItem(term: string, description: string): string {
  return `- \`${term}\`: ${description}`;
}

function isShared({ flags, description }: Option): boolean {
  return shared.some(option => option.flags === flags && option.description === description);
}

/** The commands in the order of the help, without hidden ones and without `help`. */
function visibleCommands(command: Command): Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter(one => one.name() !== "help");
}

const wanted = describeProgram(await createProgram());
if (!process.argv.includes("--check")) {
  await writeFile(path, wanted);
} else if ((await readFile(path, "utf8").catch(() => "")) !== wanted) {
  process.stderr.write("docs/cli.md is not what the commands say. Run: npm run docs\n");
  process.exitCode = 1;
}
