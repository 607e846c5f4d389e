import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { homeAt } from "../../main/home/home.ts";
import { takeLock } from "../../main/home/lock.ts";
import { makeCommandHome, serveHome } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { describeWithNats, startNatsServer } from "../helpers/nats-server.ts";
import { isRepositoryFile, repositoryNames, slowDisk, writeRepositoryFiles } from "../helpers/slow-disk.ts";

/** Arguments for Node that make a command treat its standard error as a terminal, although it is a pipe. */
const errorsOnTerminal = ["--import", "data:text/javascript,process.stderr.isTTY=true"];
/** What erases a line of progress. */
const erased = "\r\u001b[K";

test("reading a home's files shows progress on a terminal only, and commands wait for it", async () => {
  const files = await makeCommandHome();
  await writeRepositoryFiles(files.homeFolder, repositoryNames(300));
  const disk = slowDisk(isRepositoryFile);
  await using home = await serveHome(files, { fileSystem: disk.fileSystem });
  expect(await home.succeed(["status"])).toMatch(/^reading +\d+ of 300 new or changed files$/m);
  using shown = home.start(["repo", "list"], { nodeArguments: errorsOnTerminal });
  const piped = home.run(["repo", "list"]);
  // The daemon tells of its progress when it has read a file: one at a time, until the command is there and shows it.
  const reading = setInterval(() => disk.held.shift()?.(), 100);
  const hasShown = () => /The daemon has read \d+ of 300 files/.test(shown.errorOutput());
  await until(hasShown, "the progress").finally(() => clearInterval(reading));
  disk.release();
  expect(await shown.ended).toBe(0);
  const { code, output, errorOutput } = await piped;
  expect({ code, errorOutput }).toEqual({ code: 0, errorOutput: "" });
  for (const list of [shown.output(), output]) expect(list.trimEnd().split("\n")).toHaveLength(300);
  // The progress is erased before the result is printed.
  expect(shown.errorOutput().endsWith(erased)).toBe(true);
  expect(await home.succeed(["status"])).not.toMatch(/^reading/m);
});

test("commands wait for a starting daemon as long as it makes progress", async () => {
  await using home = await makeCommandHome();
  const { temporary, lockFile } = homeAt(home.homeFolder);
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  // Simulates a daemon that is repairing its home.
  const lock = takeLock(lockFile);
  if (lock === undefined) throw new Error("the home is not free");
  using status = home.start(["status"], { nodeArguments: errorsOnTerminal });
  let isOver = false;
  void status.ended.then(() => {
    isOver = true;
  });
  // Longer than the two seconds that a command waits for a daemon without progress.
  const end = Date.now() + 3_000;
  let done = 0;
  await until(async () => {
    done += 1;
    await writeFile(join(temporary, "start-progress.json"), JSON.stringify({ done, total: 9_999 }));
    return isOver || (Date.now() > end && /\d+ of 9999 repositories checked/.test(status.errorOutput()));
  }, "the command");
  expect(isOver).toBe(false);
  lock.release();
  expect(await status.ended).not.toBe(0);
  // The simulated daemon ended before it was ready.
  expect(status.errorOutput()).toContain("No daemon is running");
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
      expect(onTerminal.errorOutput.endsWith(erased)).toBe(true);
    }
    for (const way of ["--to", "--from"]) await home.succeed(["log", "copy", way, `${server.url}/other`]);
  });
});

test("other long commands show progress on a terminal only, and erase it", async () => {
  const files = await makeCommandHome();
  const names = repositoryNames(250);
  await writeRepositoryFiles(files.homeFolder, names);
  await using home = await serveHome(files);
  for (const name of names) await mkdir(join(home.workFolder, "src", name, ".git"), { recursive: true });
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
    expect(onTerminal.errorOutput).toContain(erased);
    expect(onTerminal.errorOutput.split(erased).at(-1)).not.toMatch(shown);
    const { errorOutput } = await home.run(command("two"));
    expect(errorOutput).not.toMatch(shown);
    expect(errorOutput).not.toContain("\u001b");
  }
});
