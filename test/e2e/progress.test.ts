import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { homeAt } from "../../main/home/home.ts";
import { takeLock } from "../../main/home/lock.ts";
import { makeCommandHome } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { describeWithNats, startNatsServer } from "../helpers/nats-server.ts";
import { repositoryNames, writeRepositoryFiles } from "../helpers/slow-disk.ts";

/** So many files that no machine can read all of them before the first command asks. */
const total = 5_000;
/** Arguments for Node that make a command treat its standard error as a terminal, although it is a pipe. */
const errorsOnTerminal = ["--import", "data:text/javascript,process.stderr.isTTY=true"];

test("indexing thousands of files shows progress on a terminal only, and commands wait for it", async () => {
  await using home = await makeCommandHome();
  await writeRepositoryFiles(home.homeFolder, repositoryNames(total));
  // This starts the daemon, which answers at once.
  await home.succeed(["restart"]);
  expect(await home.succeed(["status"])).toMatch(/^reading +\d+ of 5000 new or changed files$/m);
  const [shown, piped] = await Promise.all([
    home.run(["repo", "list"], { nodeArguments: errorsOnTerminal }),
    home.run(["repo", "list"]),
  ]);
  for (const { code, output } of [shown, piped]) {
    expect(code).toBe(0);
    expect(output.trimEnd().split("\n")).toHaveLength(total);
  }
  expect(piped.errorOutput).toBe("");
  expect(shown.errorOutput).toMatch(/The daemon has read \d+ of 5000 files/);
  // The progress is erased before the result is printed.
  expect(shown.errorOutput.endsWith("\r\u001b[K")).toBe(true);
  expect(await home.succeed(["status"])).not.toMatch(/^reading/m);
});

test("commands wait for a starting daemon as long as it makes progress", async () => {
  await using home = await makeCommandHome();
  const { temporary, lockFile } = homeAt(home.homeFolder);
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  // Simulates a daemon that is repairing its home.
  const lock = takeLock(lockFile);
  if (lock === undefined) throw new Error("the home is not free");
  let isOver = false;
  const status = home.run(["status"], { nodeArguments: errorsOnTerminal }).finally(() => {
    isOver = true;
  });
  // Longer than the two seconds that a command waits for a daemon without progress.
  let done = 0;
  await until(async () => {
    done += 1;
    await writeFile(join(temporary, "start-progress.json"), JSON.stringify({ done, total: 9_999 }));
    await new Promise(resolve => setTimeout(resolve, 50));
    return done > 100 || isOver;
  }, "the command");
  expect(isOver).toBe(false);
  lock.release();
  const { code, errorOutput } = await status;
  expect(code).not.toBe(0);
  expect(errorOutput).toMatch(/\d+ of 9999 repositories checked/);
  // The simulated daemon ended before it was ready.
  expect(errorOutput).toContain("No daemon is running");
});

describeWithNats("a copy into a shared log", () => {
  test("shows progress on a terminal only, and erases it", async () => {
    await using server = await startNatsServer();
    await using home = await makeCommandHome();
    await writeRepositoryFiles(home.homeFolder, repositoryNames(250));
    await home.succeed(["repo", "list"]);
    await home.succeed(["stop"]);
    for (const way of ["--to", "--from"]) {
      const onTerminal = await home.run(["log", "copy", way, `${server.url}/team`], {
        nodeArguments: errorsOnTerminal,
      });
      expect([onTerminal.code, onTerminal.errorOutput]).toEqual([0, expect.stringMatching(/: \d+ of \d+/)]);
      expect(onTerminal.errorOutput.endsWith("\r\u001b[K")).toBe(true);
    }
    for (const way of ["--to", "--from"]) await home.succeed(["log", "copy", way, `${server.url}/other`]);
  });
});

test("other long commands show progress on a terminal only, and erase it", async () => {
  await using home = await makeCommandHome();
  await writeRepositoryFiles(home.homeFolder, repositoryNames(250));
  for (const name of repositoryNames(250)) await mkdir(join(home.workFolder, "src", name, ".git"), { recursive: true });
  await home.succeed(["repo", "list"]);
  const archive = (name: string) => join(home.workFolder, name);
  const commands: readonly (readonly [shown: RegExp, command: (name: string) => readonly string[]])[] = [
    [/200 files/, name => ["backup", archive(name)]],
    [/200 of 250 repositories/, () => ["doctor"]],
    [/\d+ folders scanned, \d+ found/, () => ["repo", "add", "--scan", "src"]],
    [/200 files/, name => ["backup", "--restore", archive("one"), "--yes", "--home", archive(`home-${name}`)]],
  ];
  for (const [shown, command] of commands) {
    const onTerminal = await home.run(command("one"), { nodeArguments: errorsOnTerminal });
    expect(onTerminal.errorOutput).toMatch(shown);
    expect(onTerminal.errorOutput).toContain("\r\u001b[K");
    expect(onTerminal.errorOutput.split("\r\u001b[K").at(-1)).not.toMatch(shown);
    const { errorOutput } = await home.run(command("two"));
    expect(errorOutput).not.toMatch(shown);
    expect(errorOutput).not.toContain("\u001b");
  }
});
