import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { addScope, hasTerminal, makeShop, withCommand } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { type RunningProcess, runProcess, startProcess } from "../helpers/spawned-daemon.ts";

/** A home with the repository `shop`, which has the variable A. */
const home = await makeShop(["svc.envvars.A=one"]);
afterAll(() => home[Symbol.asyncDispose]());

const canBecome = process.platform !== "win32" && process.execve !== undefined;
const isLinux = process.platform === "linux";

/** What a shell prints that has `repoconf` on its path. */
async function shell(code: string) {
  const environment = await withCommand(home);
  return runProcess("bash", ["-c", code], { folder: home.workFolder, environment });
}

describe.skipIf(!canBecome)("repoconf run becomes the command", () => {
  test("which has its process id, and no parent that was left", async () => {
    using command = home.start(["run", "--", "sh", "-c", 'echo "$$ $PPID $A"; read -r line']);
    await until(() => command.output().includes("one"), "the command");
    expect(command.output()).toBe(`${command.process.pid} ${process.pid} one\n`);
  });

  test("which gets no signal ignored and no pipe that does not wait, as from a shell", async ({ skip }) => {
    skip(!isLinux, "/proc");
    const look = "grep SigIgn /proc/self/status; grep flags /proc/self/fdinfo/1; ls /proc/self/fd | wc -l";
    const direct = await shell(`(${look}) | cat`);
    expect(await shell(`repoconf run -- sh -c '${look}' | cat`)).toEqual(direct);
  });

  test.each<[title: string, code: string, output: string]>([
    [
      "a reader that leaves ends it, as any program",
      `repoconf run -- yes | head -1; echo "\${PIPESTATUS[0]}"`,
      "y\n141\n",
    ],
    ["a slow reader gets everything", "repoconf run -- seq 1 100000 | (sleep 0.1; wc -l)", "100000\n"],
    ["a signal that ends it is what ended it", "repoconf run -- sh -c 'kill -KILL $$'; echo $?", "137\n"],
    ["standard input is its own", "printf typed | repoconf run cat", "typed"],
    ["with standard output closed, it runs", "repoconf run -- sh -c 'echo $A >&2' 2>&1 >&-; echo $?", "one\n0\n"],
    ["a script without a first line for its program", "repoconf run -- ./plain.sh", "plain one\n"],
    ["one whose program is not there: 127", "repoconf run -- ./lost.sh 2>/dev/null; echo $?", "127\n"],
    ["a name with = is no variable", "repoconf run -- X=1 2>&1; echo $?", "repoconf: X=1: command not found.\n127\n"],
    [
      "a name that is an option of env is none",
      "repoconf run -- -i 2>&1; echo $?",
      "repoconf: -i: command not found.\n127\n",
    ],
  ])("%s", async (_title, code, output) => {
    await writeFile(join(home.workFolder, "plain.sh"), 'echo "plain $A"\n', { mode: 0o755 });
    await writeFile(join(home.workFolder, "lost.sh"), "#!/no/such/program\n", { mode: 0o755 });
    expect((await shell(code)).output).toBe(output);
  });

  test("an environment that the system refuses is said to be refused", async () => {
    await writeFile(join(home.workFolder, "big.txt"), "x".repeat(140_000));
    await home.succeed(["set", "svc.envvars.BIG=@big.txt"]);
    const { output } = await shell("repoconf run -- true 2>&1; echo $?");
    await home.succeed(["unset", "svc.envvars.BIG"]);
    expect(output).toBe("repoconf: Cannot run true: spawn E2BIG\n126\n");
  });

  test("Ctrl+Z stops it, and fg goes on with it", async ({ skip }) => {
    skip(!hasTerminal, "no script");
    using terminal = await openTerminal();
    const type = (text: string) => terminal.process.stdin.write(text);
    await until(() => /[$#] $/.test(terminal.output()), "the prompt");
    type('repoconf run -- sh -c \'echo re""ady; read -r line; echo "got $line"\'\r');
    await until(() => terminal.output().includes("ready\r\n"), "the command");
    type("\u001a");
    await until(() => /Stopped/.test(terminal.output()), "the stop");
    await toForeground(terminal);
    type("typed\r");
    await until(() => terminal.output().includes("got typed"), "the rest of it");
    type("exit\r");
    await terminal.ended;
  });
});

async function toForeground(terminal: RunningProcess): Promise<void> {
  const before = terminal.output().length;
  terminal.process.stdin.write("fg\r");
  await until(() => terminal.output().slice(before).includes("repoconf run"), "the foreground");
}

/** A shell on a terminal, with job control. */
async function openTerminal() {
  const environment = { ...(await withCommand(home)), TERM: "dumb" };
  const command = "exec bash --norc --noprofile -i";
  return startProcess("script", ["--quiet", "--return", "--command", command, "/dev/null"], {
    folder: home.workFolder,
    environment,
  });
}

test("with --watch in the background of a terminal, a signal reaches the command once", async ({ skip }) => {
  skip(!hasTerminal, "no script");
  const file = join(home.workFolder, "count.cjs");
  const code = `let count = 0; process.on("SIGINT", () => { console.log("caught " + ++count); if (process.argv[2] === "end") process.exit(4); }); setInterval(() => {}, 1e6); console.log("re" + "ady");`;
  await writeFile(file, code);
  using terminal = await openTerminal();
  const type = (text: string) => terminal.process.stdin.write(text);
  await until(() => /[$#] $/.test(terminal.output()), "the prompt");
  type(`repoconf run --watch -- '${process.execPath}' '${file}' &\r`);
  await until(() => terminal.output().includes("ready"), "the command");
  type("kill -INT $!\r");
  await until(() => terminal.output().includes("caught 1"), "the signal");
  await toForeground(terminal);
  type("\u0003");
  await until(() => terminal.output().includes("caught 2"), "the key");
  type("\u001a");
  await until(() => terminal.output().includes("Stopped"), "the stop");
  type("kill -KILL %1\r");
  expect(terminal.output()).not.toContain("caught 3");
});

describe("repoconf run --redact", () => {
  test("masks secrets in output and errors, and changes nothing else", async () => {
    const properties = { token: { type: "string", default: "", "x-env": "TOKEN", "x-secret": true } };
    await addScope(home, "hidden", properties);
    await home.run(["set", "hidden.token=plain-token"]);
    await home.put("settings.json", { secrets: { echo: { command: ["printf", "%s", "{}"] } } });
    await home.succeed(["set", "svc.envvars.KEY=cmd://echo/of the vault", "svc.envvars.PIN=cmd://echo/12"]);
    const code = 'echo "$KEY, $TOKEN, $A"; echo "err $KEY" >&2; printf "no end $PIN"; exit 7';
    expect(await home.run(["run", "--redact", "--", "sh", "-c", code])).toEqual({
      code: 7,
      output: "••••••, ••••••, one\nno end 12",
      errorOutput: expect.stringMatching(/^Not masked, .*: PIN\.\nerr ••••••\n$/),
    });
    await home.succeed(["unset", "svc.envvars.KEY", "svc.envvars.PIN"]);
  });

  test("a reader that leaves ends it", async () => {
    expect((await shell("repoconf run --redact -- yes | head -1")).output).toBe("y\n");
  });
});

test("a variable with x-env-in is given by run, and by nothing else", async () => {
  const properties = { only: { type: "string", default: "", "x-env": "ONLY", "x-env-in": "run" } };
  await addScope(home, "limited", properties);
  await home.succeed(["set", "limited.only=here"]);
  expect(await home.succeed(["run", "--", "sh", "-c", 'echo "$ONLY"'])).toBe("here\n");
  expect(await home.succeed(["run", "--redact", "--", "sh", "-c", 'echo "$ONLY"'])).toBe("here\n");
  expect(await home.succeed(["env", "--format", "json"])).not.toContain("ONLY");
  const { output } = await shell('eval "$(repoconf hook bash)"; __repoconf_hook; echo "$A-$ONLY"');
  expect(output).toBe("one-\n");
});
