/** Generates docs/cli.md from the commands; with --check, only compares and exits with code 1 if it is out of date. */
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Command, type Option } from "commander";
import { addJsonOption, addRepositoryOption, addSessionOptions } from "../main/cli/command-options.ts";
import { createProgram } from "../main/cli/program.ts";

const path = resolve(import.meta.dirname, "../docs/cli.md");

const introduction = `# Command line

<!-- Made by "npm run docs" from the commands and scripts/cli-reference.ts. Do not edit. -->

\`repoconf COMMAND --help\` tells the same, one command at a time.

## How commands work

**Which repository.** The one whose folder holds the current folder: the nearest above. A linked git worktree belongs to
its main work tree's repository, unless it was added itself. \`--repo\` names another, by id or, where only one bears it,
by name.

**Where options stand.** After the command. Those that most commands take may stand before it as well:
\`repoconf --json list\`.

**Which daemon.** The one that runs on the home: \`--home\`, else \`REPOCONF_HOME\`, else the system's folder for data of
programs. If none runs, a command that needs one starts it in the background, and it leaves half an hour after its last
client. With \`--no-start\` the command fails instead (exit code 4). The commands without that option start none, but for
\`restart\`.

**Which key.** The one in the file that \`--key-file\` names, else \`REPOCONF_API_KEY\`, else the owner's key in the home,
which may do everything. No option takes a key's text: other users could read it in the list of processes.

**How values are read.** In \`repoconf set FIELD=VALUE\` the field's schema decides. Where it takes text, the value is that
text as it stands: \`svc.default_port=8080\` is the text "8080". Anywhere else it is JSON: \`svc.timeout=30\`,
\`svc.proxy_http=true\`, \`'svc.proxy_aliases=["a.test"]'\`.

| value | means |
| --- | --- |
| \`@FILE\` | what the file holds, without its last line end |
| \`-\` | what comes from standard input, without its last line end |
| \`@@text\` | the text \`@text\` |

**Output.** On a terminal: tables with a header. In a pipe: a line for each, its cells parted by tabs, no header. With
\`--json\`: one JSON value, for programs; the other forms may change. Colours are for terminals, and \`NO_COLOR=1\` turns
them off. Results go to standard output, all else to standard error, which stays empty when all is well. What takes its time (\`repo scan\`,
\`backup\`, \`--restore\`, \`doctor\`, a daemon that reads very many files for the first time or is starting after a crash) says there how far it
is, on a terminal alone. Masked values
(those of \`svc.envvars\`) are printed with \`--reveal\` alone: else a mask stands in their place, in \`--json\` too, and \`get\` and
\`export\` refuse them. Values that no schema describes are treated as masked ones: their schema may be missing, invalid, or not
read yet. [\`env\` and \`run\`](shell.md) are there to use them.

Control characters, escape sequences and marks that turn the direction of text are shown as JSON writes them, \`\\u001b\` or
\`\\u202e\`, wherever a name, a value, a reason or a message holds them; in \`--json\` too, which stays the same JSON. \`get\` and
\`export\` give values as they are to a pipe or a file, and show them like that on a terminal. A link to the screen is printed on
a terminal only, or where \`ui --print\` asks for it.

**Exit codes.**

| code | means |
| --- | --- |
| 0 | done |
| 1 | failed, for a reason that has no code of its own; of \`diff --exit-code\` also: there is a difference |
| 2 | the command line cannot be understood |
| 3 | a field, a value or a revision was refused; of \`check\`: something in the file is wrong |
| 4 | no daemon runs, and none could be or should be started |
| 5 | the key is not good, or may not do this |

Once \`run\` has started a command, the code is the command's: 127 if it is not there, 126 if it cannot be run, 128 and the
signal's number if a signal ended it.
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
