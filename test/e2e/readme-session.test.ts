import { readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectFolder, runProcess } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

interface Step {
  readonly command: string;
  readonly printed: readonly string[];
}

/** What a person who edits the file does between two of the README's commands. */
const hand: { readonly [before: string]: string } = {
  "repoconf undo":
    'file=$(echo ~/.local/share/repoconf/repos/*.json); sed -i "s/30,/45,/" "$file"; repoconf set svc.refresh_hour=5 > /dev/null',
  "repoconf get svc.timeout": 'sed -i "s/45,/45/" "$file"',
};

// On a Mac the home of its own is elsewhere.
test.skipIf(process.platform !== "linux")(
  "README.md: its session, typed as it stands after the step that makes repoconf known, prints what it says",
  async () => {
    const readme = await readFile(join(projectFolder, "README.md"), "utf8");
    const alias = /^alias repoconf=.*$/m.exec(readme)?.[0] ?? "";
    const steps = [...readme.matchAll(/```console\n([\s\S]*?)```/g)]
      .flatMap(([, block = ""]) => block.split(/^\$ /m).slice(1))
      .map((text): Step => {
        const [command = "", ...printed] = text.trimEnd().split("\n");
        return { command, printed };
      })
      // It does not end by itself; test/e2e/cli-history.test.ts has it.
      .filter(({ command }) => command !== "repoconf watch");
    expect(steps.length).toBeGreaterThan(7);

    await using folder = await temporaryFolder();
    const home = await realpath(folder.path);
    const lines = steps.flatMap(({ command }) => [hand[command] ?? ":", 'echo "$ next"', `${command} 2>&1`]);
    const script = join(home, "session.sh");
    await writeFile(script, ["shopt -s expand_aliases", alias, ...lines, "repoconf stop > /dev/null"].join("\n"));
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
      expect(
        expected.filter(line => !lines.has(line)),
        command,
      ).toEqual([]);
    }
  },
);

/** Without what differs from one machine, repository and moment to the next. */
function plain(text: string, home: string): string {
  return text
    .replaceAll(home, "~")
    .replace(/\b[0-9a-f]{24}\b/g, "ID")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME");
}
