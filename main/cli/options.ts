/*
 * The options of commands that have a short way (one-shot/), as both ways read them: commander for help, mistakes and everything that is
 * rare, and one-shot/plain-arguments.ts. So this file imports nothing.
 */

export interface OptionRow {
  /** As commander writes them, such as `--repo <repository>`. */
  readonly flags: string;
  readonly description: string;
  /** What its value is, if not just any text. `one`: a text that may not be given twice; `several`: texts in an array. */
  readonly takes?: "one" | "several" | "revision" | "limit";
  /** The only values; the first one is the default. */
  readonly choices?: readonly string[];
}

export const homeRow: OptionRow = {
  flags: "--home <dir>",
  description: "the home folder (default: REPOCONF_HOME, else the system's data folder)",
};

/** The options of commands that connect to a daemon but never start one. */
export const connectionRows: readonly OptionRow[] = [
  homeRow,
  {
    flags: "--key-file <file>",
    description: "read the API key from this file (default: REPOCONF_API_KEY, else the owner's key)",
  },
];

export const sessionRows: readonly OptionRow[] = [
  ...connectionRows,
  { flags: "--no-start", description: "fail if no daemon is running, instead of starting one" },
];

export const jsonRow: OptionRow = { flags: "--json", description: "print JSON, for programs" };

export const repositoryRow: OptionRow = {
  flags: "--repo <repository>",
  description: "id or name of the repository (default: the repository that contains the current folder)",
  takes: "one",
};

const revealRow: OptionRow = { flags: "--reveal", description: "show masked values" };

/** The options of commands that can change several repositories at once. */
const repositoriesRows: readonly OptionRow[] = [
  {
    flags: "--repo <repository>",
    description:
      "id or name of the repository; may be repeated (default: the repository that contains the current folder)",
    takes: "several",
  },
  {
    flags: "--where <query>",
    description:
      "every repository that a search for this finds, such as 'field:svc.proxy_https=off'; 'repo:*' finds all",
  },
  { flags: "--yes", description: "do not ask for confirmation before changing several repositories" },
];

/** The layer that a command reads or writes. */
export const layerRows: readonly OptionRow[] = [
  { flags: "--local", description: "the values of your own, which only this machine has and which count first" },
  { flags: "--shared", description: "the values that everyone has, in a work tree those that git has" },
];

/** The options of all commands that write values. */
const writeRows: readonly OptionRow[] = [
  {
    flags: "--if-revision <n>",
    description: "change nothing and exit with code 3 unless the repository is at this revision",
    takes: "revision",
  },
  { flags: "--atomic", description: "apply all of the changes or none" },
  { flags: "--dry-run", description: "show what would change, without changing anything" },
  { flags: "--reason <text>", description: "why, recorded in the history and shown to watchers" },
  ...layerRows,
];

export const getRows: readonly OptionRow[] = [
  ...sessionRows,
  repositoryRow,
  jsonRow,
  { flags: "--reveal", description: "print masked values in clear text; otherwise they are refused with exit code 3" },
  {
    flags: "--with-revision",
    description:
      'print the revision first: before the value and a space, or on its own line before several values; with --json {"revision": ..., "value": ...}, or "values"',
  },
];

export const listRows: readonly OptionRow[] = [
  ...sessionRows,
  repositoryRow,
  jsonRow,
  { flags: "--revision <n>", description: "show the values at this revision (default: the newest)", takes: "revision" },
  { flags: "--stored", description: "only stored values, without defaults" },
  revealRow,
  { flags: "--with-revision", description: 'print JSON with the revision: {"revision": ..., "config": ...}' },
];

export const explainRows: readonly OptionRow[] = [...sessionRows, repositoryRow, jsonRow, revealRow];

/** How many revisions `history` shows. */
export const defaultHistoryLimit = 20;

export const historyRows: readonly OptionRow[] = [
  ...sessionRows,
  repositoryRow,
  jsonRow,
  {
    flags: "--limit <n>",
    description: `how many revisions to show (default: ${defaultHistoryLimit})`,
    takes: "limit",
  },
  { flags: "--after <revision>", description: "only revisions older than this one", takes: "revision" },
  revealRow,
];

/** Of commands that change one repository. */
export const changeRows: readonly OptionRow[] = [...sessionRows, repositoryRow, jsonRow, ...writeRows];

/** Of `set` and `unset`. */
export const changeValuesRows: readonly OptionRow[] = [...sessionRows, jsonRow, ...repositoriesRows, ...writeRows];

const environmentFormats = ["sh", "dotenv", "fish", "pwsh", "json"] as const;
export type EnvironmentFormat = (typeof environmentFormats)[number];

export const envRows: readonly OptionRow[] = [
  ...sessionRows,
  repositoryRow,
  { flags: "--format <format>", description: "the output format", choices: environmentFormats },
  { flags: "--reveal", description: "print it even if the output is a terminal" },
];

/** Of `run`, without `--watch`. */
export const runRows: readonly OptionRow[] = [...sessionRows, repositoryRow];

export const describeRows: readonly OptionRow[] = [...sessionRows, jsonRow];

export const hookRows: readonly OptionRow[] = [
  { flags: "--start", description: "on entering a folder, start a daemon in the background if none is running" },
];
