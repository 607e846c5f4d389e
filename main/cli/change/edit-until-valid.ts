import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeCause } from "../../files/describe-cause.ts";
import { readNamedText } from "../../files/named-text.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { confirm, isTerminal, print, printNote } from "../output/terminal.ts";

/** A text that the user edits. */
export interface EditedText {
  /** The name of the temporary file. Editors choose the language by its extension. */
  readonly fileName: string;
  readonly text: string;
  save(text: string): Promise<EditOutcome>;
}

/** A sentence about what was saved; or the problems, one per line, and the current text if somebody else changed it in the meantime. */
type EditOutcome = { readonly done: string } | { readonly problems: readonly string[]; readonly now?: string };

/**
 * Opens the text in the user's editor until it can be saved. If the user gives up, the text stays in a temporary file, which the
 * CommandError names.
 */
export async function editUntilValid({ fileName, text, save }: EditedText): Promise<void> {
  // mkdtemp makes it accessible to its owner only.
  const folder = await mkdtemp(join(tmpdir(), "repoconf-edit-"));
  const file = join(folder, fileName);
  await writeFile(file, text, { mode: 0o600 });
  const finish = () => rm(folder, { recursive: true, force: true });
  const editor = editorOfUser();
  for (;;) {
    const started = performance.now();
    const failure = await runEditor(editor, file).catch((error: unknown) => error);
    const isHasty = performance.now() - started < hastyEnd && !isInTerminal.test(editor) && failure === undefined;
    if (isHasty && (await readNamedText(file).catch(() => "")) === text)
      await confirm("The editor ended at once. If it opened a window, save the text there first. Continue?");
    const edited = await readNamedText(file).catch(
      (error: unknown): EditOutcome => ({ problems: [`This cannot be saved: ${describeCause(error)}.`] }),
    );
    if (edited === text) await finish();
    if (failure instanceof CommandError && edited !== text) throw keptIn(file, failure.message);
    if (failure !== undefined) throw failure;
    if (edited === text) {
      const hint = `. If ${editor} opened a window, add its option that waits, as in EDITOR='code --wait'.`;
      return print(`Nothing was changed${isHasty ? hint : "."}`);
    }
    const outcome = typeof edited === "string" ? await save(edited) : edited;
    if ("done" in outcome) {
      await finish();
      return print(outcome.done);
    }
    printNote(...outcome.problems);
    if (outcome.now !== undefined) {
      const other = join(folder, `now-${fileName}`);
      await writeFile(other, outcome.now, { mode: 0o600 });
      printNote(
        `Its current text is in ${other}. Edit again and copy what you want to keep: your next save replaces it.`,
      );
    }
    if (await confirm("Edit again?")) continue;
    throw keptIn(file, "Nothing was saved.");
  }
}

function keptIn(file: string, why: string): CommandError {
  return new CommandError(`${why} Your text is saved in ${file}`, exitCodes.refused);
}

const isInTerminal = /^(\S*\/)?(vi|n?vim|nano)(\s|$)/;
/** Milliseconds: an editor that ends sooner may have only told its window to open the file. */
const hastyEnd = 5_000;
const isWindows = process.platform === "win32";

function editorOfUser(): string {
  return process.env["VISUAL"] || process.env["EDITOR"] || (isWindows ? "notepad" : "vi");
}

/** Opens a file in an editor and waits until it exits. Throws CommandError. */
async function runEditor(editor: string, file: string): Promise<void> {
  // Without a terminal it would wait forever.
  if (isInTerminal.test(editor) && !(process.stdin.isTTY && isTerminal()))
    throw new CommandError(
      `The editor ${editor} needs a terminal, and here is none. Without one: repoconf set FIELD=VALUE, FIELD=@FILE for a file's text, or an EDITOR that opens a window or is a script.`,
    );
  // The variable may contain arguments, such as "code --wait", so a shell parses it, as in git.
  const child = isWindows
    ? spawn(`${editor} "${file}"`, { shell: true, stdio: "inherit" })
    : spawn("sh", ["-c", `${editor} "$@"`, editor, file], { stdio: "inherit" });
  // While the editor runs, it handles Ctrl+C.
  const ignore = () => {};
  process.on("SIGINT", ignore);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", resolve);
    });
    if (code !== 0)
      throw new CommandError(
        `The editor (${editor}) failed with ${code ?? "a signal"}, so nothing was saved. To use another editor, set EDITOR.`,
      );
  } finally {
    process.off("SIGINT", ignore);
  }
}
