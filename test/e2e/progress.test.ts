import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { takeLock } from "../../main/daemon/lock.ts";
import { homeAt } from "../../main/home.ts";
import { makeCommandHome } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { describeWithNats, startNatsServer } from "../helpers/nats-server.ts";
import { repositoryNames, writeRepositoryFiles } from "../helpers/slow-disk.ts";

/** So many that no machine has read them all before the first command asks. */
const total = 5_000;
/** Arguments of Node with which a command takes its standard error for a terminal, though it is a pipe. */
const errorsOnTerminal = ["--import", "data:text/javascript,process.stderr.isTTY=true"];

test("the first reading of thousands of files shows on a terminal how far it is, is silent in a pipe, and is waited for", async () => {
  await using home = await makeCommandHome();
  await writeRepositoryFiles(home.homeFolder, repositoryNames(total));
  // It starts the daemon, which answers at once.
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
  // And takes it away before the result.
  expect(shown.errorOutput.endsWith("\r\u001b[K")).toBe(true);
  expect(await home.succeed(["status"])).not.toMatch(/^reading/m);
});

test("a daemon that is starting is waited for as long as its start comes further", async () => {
  await using home = await makeCommandHome();
  const { temporary, lockFile } = homeAt(home.homeFolder);
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  // Stands for a daemon that puts its home in order.
  const lock = takeLock(lockFile);
  if (lock === undefined) throw new Error("the home is not free");
  let isOver = false;
  const status = home.run(["status"], { nodeArguments: errorsOnTerminal }).finally(() => {
    isOver = true;
  });
  // More than the two seconds for which a daemon that says nothing is waited for.
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
  // The daemon ended without being ready.
  expect(errorOutput).toContain("No daemon is running");
});

describeWithNats("a copy into a shared log", () => {
  test("says on a terminal how far it is, takes that away, and is silent in a pipe", async () => {
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

test("what else takes its time says on a terminal how far it is, takes that away, and is silent in a pipe", async () => {
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
