import { RepoconfError } from "../../shared/errors.ts";

/** What a command says of whatever it threw: what the daemon says in the words of its protocol, in those of the command line. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof RepoconfError)) return error.message;
  if (error.code === 1109)
    return "The daemon that runs is older than this command and cannot do this. Run: repoconf restart";
  return inCommandWords(error.message);
}

const commandWords: readonly (readonly [RegExp, string])[] = [
  [/\bscope\/list names the fields there are/, "repoconf describe names those there are"],
  [/\b(repo|key|scope|history)\/list\b/g, "repoconf $1 list"],
  [/repoconf history list/g, "repoconf history"],
  [/The arguments of \S+ are not of the right form: /, ""],
  [/\bargs\//g, ""],
  [/ Give as after what stood in next\./, " Give a revision, such as 12, as --after."],
];

function inCommandWords(message: string): string {
  return commandWords.reduce((text, [words, ours]) => text.replace(words, ours), message);
}
