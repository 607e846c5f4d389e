import type { HookShell } from "../../shared/protocol.ts";
import { fishQuoted, pwshQuoted, shellQuoted } from "../../shared/shell-quoted.ts";
import { visible } from "../../shared/visible.ts";
import type { HookAnswer } from "./answer.ts";

/** How a shell is told of an answer: by calls of functions of its script, whose names are the same in all shells. */
interface Dialect {
  quoted(text: string): string;
  /** A file's text as the script reads it. */
  asRead(text: string): string;
  /** How a variable of the script is set. */
  assigned(name: string, text: string): string;
}

const dialects = {
  // bash strips line ends at both ends of what it reads.
  bash: { quoted: shellQuoted, asRead: withoutOuterLineEnds, assigned: posix },
  zsh: { quoted: shellQuoted, asRead: text => text, assigned: posix },
  fish: {
    quoted: fishQuoted,
    asRead: text => text,
    assigned: (name, text) => `set -g __repoconf_${name} ${text}`,
  },
  pwsh: {
    quoted: pwshQuoted,
    asRead: text => text,
    assigned: (name, text) => `$global:__repoconf_${name} = '${text}'`,
  },
} as const satisfies { readonly [shell in HookShell]: Dialect };

export const hookShells = Object.keys(dialects) as readonly HookShell[];

/**
 * The version of the words that these lines have for a script. A shell keeps its script while Repoconf is upgraded, so raise this with each
 * change of the words or of what they do: the script then evaluates none of them, and says what to do.
 */
export const hookWords = "1";

/** The lines that a hook's script evaluates. They quote every value, and whatever is cut off them, the last one shows it. */
export function hookLines(answer: HookAnswer, shell: HookShell): string {
  const { quoted, asRead, assigned }: Dialect = dialects[shell];
  const { repo = "", variables, stamps, note = "", needsCommand, isTemporary, worktree } = answer;
  const call = (name: string, ...words: string[]) => [`__repoconf_${name}`, ...words.map(quoted)].join(" ");
  return [
    ...(worktree === undefined ? [] : [call("worktree", worktree.folder, worktree.main)]),
    call("at", repo),
    ...stamps.map(({ file, text }) => call("watch", file, ...(text === undefined ? [] : [asRead(text)]))),
    ...Object.entries(variables).map(([name, value]) => call("set", name, value)),
    ...(note === "" ? [] : [call("note", note.split("\n").map(visible).join(" "))]),
    ...(needsCommand ? [assigned("needs_command", "1")] : []),
    ...(isTemporary ? [assigned("is_temporary", "1")] : []),
    assigned("made", hookWords),
    "",
  ].join("\n");
}

/** Tells a hook's script that it may send the owner's key into the home's socket itself. */
export function checkedLine(shell: HookShell): string {
  return `${dialects[shell].assigned("checked", "1")}\n`;
}

/** Whether the lines say that only the command can fetch the variables. */
export function needsCommand(lines: string, shell: HookShell): boolean {
  return lines.includes(`\n${dialects[shell].assigned("needs_command", "1")}\n`);
}

function posix(name: string, text: string): string {
  return `__repoconf_${name}=${text}`;
}

/** A regular expression for the end would take time that grows with the square of the number of line ends. */
function withoutOuterLineEnds(text: string): string {
  let [start, end] = [0, text.length];
  while (text[start] === "\n") start += 1;
  while (end > start && text[end - 1] === "\n") end -= 1;
  return text.slice(start, end);
}
