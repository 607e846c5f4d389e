import { spawn } from "node:child_process";
import { CommandError } from "../output/exit-codes.ts";

/** Opens a file in the user's editor (VISUAL, else EDITOR) and waits until it exits. Throws CommandError. */
export async function runEditor(file: string): Promise<void> {
  const { VISUAL, EDITOR } = process.env;
  const isWindows = process.platform === "win32";
  const editor = VISUAL || EDITOR || (isWindows ? "notepad" : "vi");
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
