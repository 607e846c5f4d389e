import { readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { projectFolder, repoconfCommand, runProcess } from "./spawned-daemon.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/**
 * Runs the sessions of a document, `$ COMMAND` and its output in blocks of console text, in a fresh home. Fails unless each
 * command prints every line that the document shows, and there are more than `least` commands. `begin` is the shell line that
 * makes `repoconf` a known command.
 */
export async function typeSessions(
  document: string,
  least: number,
  begin = `alias repoconf="'${process.execPath}' '${repoconfCommand}'"`,
): Promise<void> {
  const text = await readFile(join(projectFolder, document), "utf8");
  const steps = [...text.matchAll(/```console\n([\s\S]*?)```/g)]
    .flatMap(([, block = ""]) => block.split(/^\$ /m).slice(1))
    .map(step => {
      const [command = "", ...printed] = step.trimEnd().split("\n");
      return { command, printed };
    });
  expect(steps.length).toBeGreaterThan(least);

  await using folder = await temporaryFolder();
  const home = await realpath(folder.path);
  const lines = steps.flatMap(({ command }) => ['echo "$ next"', `${command} 2>&1`]);
  const script = join(home, "session.sh");
  await writeFile(script, ["shopt -s expand_aliases", begin, ...lines, "repoconf stop > /dev/null"].join("\n"));
  const { output } = await runProcess("bash", [script], {
    folder: projectFolder,
    environment: { HOME: home, XDG_DATA_HOME: "" },
  });
  const said = output.split("$ next\n").slice(1);
  expect(said).toHaveLength(steps.length);
  for (const [index, { command, printed }] of steps.entries()) {
    const lines = new Set(plain(said[index] ?? "", home).split("\n"));
    // Tables look different here: the documents show them as on a terminal, but this is a pipe.
    const expected = printed
      .map(line => plain(line, "/home/ada"))
      .filter(line => !/^(?!TIME)\S+ {2,}|^\.\.\.$|^ {9}|^shop \(ID\)(, revision|$)/.test(line));
    const missing = expected.filter(line => !lines.has(line));
    expect(missing, `${command} printed:\n${said[index]}`).toEqual([]);
  }
}

/** Replaces what differs between machines, repositories and moments. */
function plain(text: string, home: string): string {
  return text
    .replaceAll(home, "~")
    .replace(/\b[0-9a-f]{24}\b/g, "ID")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME");
}
