import { mkdir, readFile, realpath, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { projectFolder, repoconfCommand, runProcess } from "./spawned-daemon.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The documents with sessions, how many commands each has at least, and what must be there first. */
export const sessions: readonly (readonly [document: string, least: number, before?: string])[] = [
  ["README.md", 11],
  ["docs/getting-started.md", 26],
  ["docs/tool-of-your-own.md", 7],
  ["docs/history.md", 20],
  ["docs/worktrees.md", 27],
  [
    "docs/scopes.md",
    0,
    `mkdir -p ~/shop ~/site/.repoconf/scopes && echo '{"properties":{"path":{"type":"string","default":""}}}' > ~/tools.schema.json
repoconf scope add --yes ~/tools.schema.json && repoconf repo add ~/shop && repoconf set --repo shop tools.path=/opt
cd ~/site && git init -q && echo '{"config":{"tools":{"path":"./evil"}}}' > .repoconf.json && repoconf repo add
echo '{"properties":{"path":{"type":"string","default":"./default","x-env":"TOOLS"}}}' > .repoconf/scopes/tools.schema.json`,
  ],
  [
    "docs/ci-and-editors.md",
    0,
    `mkdir ~/site && cd ~/site && cat > .repoconf.json <<'END'
{ "config": {
    "svc": {
      "timeout":        "30",   "timeot": 1
    },
    "other": { "a": 1 }
} }
END`,
  ],
];

/**
 * Runs the sessions of a document, `$ COMMAND` and its output in blocks of console text, in a fresh home. Fails unless each
 * command prints every line that the document shows, and there are more than `least` commands. A command that asks in the document gets
 * the answer that stands there, on a terminal. `begin` is the shell line that makes `repoconf` a known command; the clone of the project
 * is ~/src/repoconf.
 */
export async function typeSessions(
  document: string,
  least: number,
  before = "",
  begin = 'export PATH="$HOME/bin:$PATH"',
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
  await mkdir(join(home, "bin"));
  await symlink(process.execPath, join(home, "bin/node"));
  const program = `#!/bin/sh\nexec "${process.execPath}" "${repoconfCommand}" "$@"\n`;
  await writeFile(join(home, "bin/repoconf"), program, { mode: 0o755 });
  await mkdir(join(home, "src"));
  await symlink(projectFolder, join(home, "src/repoconf"));
  const lines = steps.flatMap(({ command, printed }) => {
    const answer = printed.map(line => /\[y\/N\] (\w+)$/.exec(line)?.[1]).find(word => word !== undefined);
    const asking = `echo ${answer} | NO_COLOR=1 script -qec '${command}' /dev/null | tr -d '\\r'`;
    return ['echo "$ next"', answer === undefined ? `${command} 2>&1` : asking];
  });
  const script = join(home, "session.sh");
  await writeFile(
    script,
    [begin, `{ ${before || ":"}\n} > /dev/null 2>&1`, ...lines, "repoconf stop > /dev/null"].join("\n"),
  );
  const { output } = await runProcess("bash", [script], {
    folder: projectFolder,
    // npm keeps its settings and its cache. It would build dist/ again, which other tests use.
    environment: { HOME: home, XDG_DATA_HOME: "", ...npmOf(homedir()), npm_config_ignore_scripts: "true" },
  });
  const said = output.split("$ next\n").slice(1);
  expect(said).toHaveLength(steps.length);
  for (const [index, { command, printed }] of steps.entries()) {
    const lines = new Set(plain(said[index] ?? "", home).split("\n"));
    // Tables look different here, and notes are missing: the documents show them as on a terminal, but this is a pipe.
    const expected = printed
      .map(line => plain(line, "/home/ada").trimEnd())
      .filter(line => !/^(?!TIME)\S+ {2,}|^\.\.\.$|^ {9}|^shop \(ID\)(, revision|$)|^Older entries: /.test(line));
    const missing = expected.filter(line => !lines.has(line));
    expect(missing, `${command} printed:\n${said[index]}`).toEqual([]);
  }
}

function npmOf(home: string) {
  return { npm_config_userconfig: join(home, ".npmrc"), npm_config_cache: join(home, ".npm") };
}

/** Replaces what differs between machines, repositories and moments. */
export function plain(text: string, home = "/home/ada"): string {
  return (
    text
      .replaceAll(home, "~")
      // What is typed behind a question is shown before it, because it is there already.
      .replace(/(?<=\[y\/N\]) (\w+$)?/gm, "\n")
      .replace(/\b[0-9a-f]{24}\b/g, "ID")
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
  );
}
