import { readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { projectFolder, repoconfCommand, runProcess } from "./spawned-daemon.ts";
import { temporaryFolder } from "./temporary-folder.ts";

interface TypedSession {
  /** Commands that do not end by themselves; other tests have them. */
  readonly leftOut?: readonly string[];
  /** What a person does by hand before a command: in the shell, and not in the document. */
  readonly hand?: { readonly [before: string]: string };
  /** The line of the document that makes `repoconf` known; else the test does. */
  readonly alias?: RegExp;
}

/**
 * Types the sessions of a document, `$ COMMAND` and what it prints in blocks of console text, in a fresh home. Fails unless each prints
 * every line that the document says, and there are more of them than `least`.
 */
export async function typeSessions(
  document: string,
  least: number,
  { leftOut = [], hand = {}, alias }: TypedSession = {},
): Promise<void> {
  const text = await readFile(join(projectFolder, document), "utf8");
  const known = `alias repoconf="'${process.execPath}' '${repoconfCommand}'"`;
  const steps = [...text.matchAll(/```console\n([\s\S]*?)```/g)]
    .flatMap(([, block = ""]) => block.split(/^\$ /m).slice(1))
    .map(step => {
      const [command = "", ...printed] = step.trimEnd().split("\n");
      return { command, printed };
    })
    .filter(({ command }) => !leftOut.includes(command));
  expect(steps.length).toBeGreaterThan(least);

  await using folder = await temporaryFolder();
  const home = await realpath(folder.path);
  const lines = steps.flatMap(({ command }) => [hand[command] ?? ":", 'echo "$ next"', `${command} 2>&1`]);
  const script = join(home, "session.sh");
  const begin = ["shopt -s expand_aliases", alias === undefined ? known : (alias.exec(text)?.[0] ?? "")];
  await writeFile(script, [...begin, ...lines, "repoconf stop > /dev/null"].join("\n"));
  const { output } = await runProcess("bash", [script], {
    folder: projectFolder,
    environment: { HOME: home, XDG_DATA_HOME: "" },
  });
  const said = output.split("$ next\n").slice(1);
  expect(said).toHaveLength(steps.length);
  for (const [index, { command, printed }] of steps.entries()) {
    const lines = new Set(plain(said[index] ?? "", home).split("\n"));
    // Its tables are drawn for a terminal, which this is not.
    const expected = printed
      .map(line => plain(line, "/home/ada"))
      .filter(line => !/^\S+ {2,}|^\.\.\.$|^ {9}|^shop \(ID\), revision/.test(line));
    const missing = expected.filter(line => !lines.has(line));
    expect(missing, `${command} printed:\n${said[index]}`).toEqual([]);
  }
}

/** Without what differs from one machine, repository and moment to the next. */
function plain(text: string, home: string): string {
  return text
    .replaceAll(home, "~")
    .replace(/\b[0-9a-f]{24}\b/g, "ID")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME");
}
