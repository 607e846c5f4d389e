const commandWords: readonly (readonly [RegExp, string])[] = [
  [/\bTo list all fields: scope\/list/, "To list all fields: repoconf describe"],
  [/\b(repo|key|scope|history)\/list\b/g, "repoconf $1 list"],
  [/ To edit it: file\/write$/, " To edit it: repoconf edit"],
  [/\(trust\/list\)/, "(repoconf trust)"],
  [/\bproposal\/list\b/, "repoconf trust --json"],
  [/(--local) \(layer\)/, "$1"],
  [/\bdaemon\/status\b/, "repoconf status"],
  [/repoconf history list/g, "repoconf history"],
  [/The arguments of \S+ are invalid: /, ""],
  [/\bargs\//g, ""],
  [/ Pass the next of the previous page as after\./, " Pass a revision, such as 12, to --after."],
];

/** A message of the daemon, which names operations and arguments of the protocol, with commands instead. */
export function inCommandWords(message: string): string {
  return commandWords.reduce((text, [words, ours]) => text.replace(words, ours), message);
}
