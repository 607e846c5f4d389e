import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { addScope, makeServedHome, makeShop } from "../helpers/command-home.ts";
import { isShellThere } from "../helpers/prompting-shell.ts";
import { titleWith } from "../helpers/skips.ts";
import { onTerminal, runProcess } from "../helpers/spawned-daemon.ts";

const hard = "it's\n\"two\" $HOME `id` \\ \\' ’‘ ! ünï % *\t\n\n'";

const home = await makeShop();
afterAll(() => home[Symbol.asyncDispose]());

async function setVariables(variables: { readonly [name: string]: string }, inHome = home): Promise<void> {
  const list = Object.entries(variables).map(([name, value]) => ({ name, value }));
  await inHome.succeed(["set", `svc.envvars=${JSON.stringify(list)}`]);
}

const setSecrets = (secrets: unknown, inHome = home) => inHome.put("settings.json", { secrets });

const show = `'${process.execPath}' -p 'JSON.stringify([process.env.HARD, process.env.B, process.env.HARD_PATH])'`;

describe("repoconf env", () => {
  for (const [format, shell, how] of [
    ["sh", "sh", "eval"],
    ["sh", "bash", "eval"],
    ["sh", "zsh", "eval"],
    ["fish", "fish", "source"],
  ] as const) {
    const isThere = isShellThere(shell);
    const title = titleWith(isThere, shell, `what it prints for ${format}, ${shell} reads back as it was`);
    test.skipIf(!isThere)(title, async () => {
      // fish has a list of names that end in PATH.
      await setVariables({ HARD: hard, B: "plain", HARD_PATH: `/a b::${hard}:/$c:` });
      const file = join(home.workFolder, "environment");
      await writeFile(file, await home.succeed(["env", "--format", format]));
      const code = how === "eval" ? `eval "$(cat '${file}')"; ${show}` : `source '${file}'; ${show}`;
      const { output } = await runProcess(shell, ["-c", code]);
      expect(JSON.parse(output)).toEqual([hard, "plain", `/a b::${hard}:/$c:`]);
    });
  }

  for (const shell of ["sh", "bash", "zsh"]) {
    const isThere = isShellThere(shell);
    const title = titleWith(isThere, shell, `a variable that ${shell} does not let be set costs no other`);
    test.skipIf(!isThere)(title, async () => {
      await setVariables({ A: "a", status: "s", UID: "u", FIXED: "f", SECONDS: "1+", B: "b" });
      const file = join(home.workFolder, `environment-${shell}`);
      await writeFile(file, await home.succeed(["env"]));
      const code = `readonly FIXED=1\nset -eu\neval "$(cat '${file}')"\necho "$A $B $FIXED"; command -v __repoconf_export || echo none`;
      const { code: exit, output, errorOutput } = await runProcess(shell, ["-c", code]);
      expect([exit, output, errorOutput]).toEqual([0, "a b 1\nnone\n", expect.stringContaining("let FIXED be set")]);
      if (shell === "zsh") expect(errorOutput).toContain("let status be set");
    });
  }

  test("prints an object as JSON, lines that parseEnv reads as dotenv, and doubles every apostrophe for PowerShell", async () => {
    await setVariables({ HARD: hard, B: "pl ain" });
    expect(JSON.parse(await home.succeed(["env", "--format", "json"]))).toEqual({ HARD: hard, B: "pl ain" });
    const pwsh = await home.succeed(["env", "--format", "pwsh"]);
    expect(pwsh).toContain(`\${env:HARD} = '${hard.replace(/['‘’]/g, "$&$&")}'`);
    await home.refuse(3, ["env", "--format", "dotenv"], "HARD cannot be written");
    await setVariables({ A: "it's", B: 'two\n"lines" $x' });
    expect(parseEnv(await home.succeed(["env", "--format", "dotenv"]))).toEqual({ A: "it's", B: 'two\n"lines" $x' });
  });

  test("after a checkout of a branch without the file, get, env and run give nothing of the other branch", async () => {
    await using of = await makeServedHome();
    const file = join(of.workFolder, ".repoconf.json");
    await of.succeed(["repo", "add", of.workFolder, "--id", "shop", "--in-tree"]);
    await of.succeed(["set", "--repo", "shop", "svc.timeout=30", "svc.envvars.A=a"]);
    const text = await readFile(file, "utf8");
    const environment = ["env", "--format", "json"];
    // With --key-file, commands take the long way.
    const long = ["--key-file", join(of.homeFolder, "owner.key")];
    for (const [args, there, gone] of [
      [["get", "svc.timeout"], "30\n", "900\n"],
      [["get", "svc.timeout", ...long], "30\n", "900\n"],
      [["get", "svc.timeout", "svc.domain", ...long], "30\n\n", "900\n\n"],
      [environment, '{\n  "A": "a"\n}\n', "{}\n"],
      [[...environment, ...long], '{\n  "A": "a"\n}\n', "{}\n"],
      [["run", "--", "sh", "-c", "echo $A"], "a\n", "\n"],
    ] as const) {
      await writeFile(file, text);
      expect([args, await of.succeed(args, { folder: of.workFolder })]).toEqual([args, there]);
      await rm(file);
      expect([args, await of.succeed(args, { folder: of.workFolder })]).toEqual([args, gone]);
    }
  });

  test("on a terminal it requires --reveal", async () => {
    await setVariables({ B: "hush" });
    await home.refuse(3, ["env"], "--reveal", { nodeArguments: onTerminal });
    expect((await home.run(["env", "--reveal"], { nodeArguments: onTerminal })).output).toContain("hush");
  });
});

describe("references to secrets", () => {
  test("each distinct reference is resolved once, without a shell and with its argument unchanged", async () => {
    const log = join(home.workFolder, "asked.log");
    const program = join(home.workFolder, "ask.cjs");
    await writeFile(
      program,
      `require("fs").appendFileSync(${JSON.stringify(log)}, JSON.stringify(process.argv.slice(2)) + "\\n"); console.log("of " + process.argv[2]);`,
    );
    await setSecrets({ ask: { command: [process.execPath, program, "{}"] } });
    const odd = "a b/$(id)%2F;'\"{}";
    await setVariables({ A: `cmd://ask/${odd}`, B: "cmd://ask/b", C: "cmd://ask/b", D: "no cmd://ask/b" });
    const environment = JSON.parse(await home.succeed(["env", "--format", "json"]));
    expect(environment).toEqual({ A: `of ${odd}`, B: "of b", C: "of b", D: "no cmd://ask/b" });
    const asked = (await readFile(log, "utf8")).trim().split("\n");
    expect(asked.sort()).toEqual([JSON.stringify([odd]), JSON.stringify(["b"])].sort());
  });

  test("with input, one process resolves all references of a name, one per line", async () => {
    await setVariables({ A: "cmd://all/a", B: "cmd://all/b/c", C: "cmd://all/a" });
    const code = `const lines = require("fs").readFileSync(0, "utf8").split("\\n").slice(0, -1); for (const line of lines) console.log(process.pid + line);`;
    await setSecrets({ all: { command: [process.execPath, "-e", code], input: "<{}>" } });
    const { A, B, C } = JSON.parse(await home.succeed(["env", "--format", "json"]));
    expect(A).toMatch(/^\d+<a>$/);
    expect(B).toBe(A.replace("<a>", "<b/c>"));
    expect(C).toBe(A);
  });

  /** Writes each line that it reads, and for those with "key" two; fails for "bad". Copies what is no line for it, which has random letters. */
  const filling = `const lines = require("fs").readFileSync(0, "utf8").split("\\n").slice(0, -1); if (lines.includes("<bad>")) process.exit(7); for (const line of lines) console.log(line.includes("key") ? "BEGIN\\n" + line : line);`;
  test.each([true, false])("with input, secrets of several lines arrive as they are; framed: %s", async framed => {
    await setVariables({ A: "cmd://fill/a", KEY: "cmd://fill/key", B: "cmd://fill/b", OTHER: "cmd://fill/key2" });
    await setSecrets({ fill: { command: [process.execPath, "-e", filling], input: "<{}>", framed } });
    const read = JSON.parse(await home.succeed(["env", "--format", "json"]));
    expect(read).toEqual({ A: "<a>", KEY: "BEGIN\n<key>", B: "<b>", OTHER: "BEGIN\n<key2>" });
  });

  test("with input, the one that fails is named alone; the hook loads the others", async () => {
    await setVariables({ A: "cmd://fill/a", BAD: "cmd://fill/bad", KEY: "cmd://fill/key" });
    for (const framed of [true, false]) {
      // Three programs one after another: on a machine that stands still for a while, they take longer than ten seconds.
      await setSecrets({ fill: { command: [process.execPath, "-e", filling], input: "<{}>", framed, timeout: 300 } });
      for (const args of [["env"], ["run", "true"]]) {
        const { code, output, errorOutput } = await home.run(args);
        expect([code, output, errorOutput]).toEqual([
          1,
          "",
          expect.stringMatching(/^repoconf: .*fill\/bad \(for BAD\).*exited with 7/),
        ]);
        expect(errorOutput).not.toMatch(/for A|for KEY/);
      }
      const lines = await home.succeed(["hook-load", "bash"]);
      expect(lines).toContain("__repoconf_set 'A' '<a>'\n");
      expect(lines).toContain("__repoconf_set 'KEY' 'BEGIN\n<key>'\n");
      expect(lines).toMatch(/__repoconf_note '.*fill\/bad/);
      expect(lines).not.toContain("__repoconf_set 'BAD'");
    }
  });

  test("a program that copies no lines is not taken at its word that it does", async () => {
    await setVariables({ A: "cmd://fill/a", B: "cmd://fill/b" });
    await setSecrets({ fill: { command: ["sed", "s/^.*-//"], input: "<{}>", framed: true } });
    await home.refuse(1, ["env"], /did not copy the lines between the answers/);
  });

  const loud = `console.log("hush"); console.error("hush")`;
  test.each<[title: string, secrets: unknown, reference: string, told: RegExp]>([
    ["a name that the settings do not have", {}, "cmd://none/x", /"none" under "secrets" in \S+settings\.json/],
    ["a name that only objects have", {}, "cmd://constructor/x", /"constructor" under "secrets"/],
    ["what is not a secret reference", {}, "cmd://", /is not a secret reference/],
    ["a program that is not there", { a: { command: ["no-such-program"] } }, "cmd://a", /"a".*cannot be started/],
    [
      "a program that fails",
      { a: { command: [process.execPath, "-e", `${loud}; process.exitCode = 3`] } },
      "cmd://a",
      /"a" in settings.json exited with 3/,
    ],
    [
      // The process that it left running keeps its output open.
      "one that fails and leaves another running",
      { a: { command: ["sh", "-c", "sleep 30 & exit 3"] } },
      "cmd://a",
      /"a" in settings.json exited with 3/,
    ],
    [
      "one that answers less",
      { a: { command: ["true"], input: "{}" } },
      "cmd://a/x",
      /answered with 0 lines instead of 1/,
    ],
    [
      "one that answers in Latin-1",
      { a: { command: ["printf", String.raw`caf\351`] } },
      "cmd://a",
      /text that a variable cannot contain: it is not UTF-8/,
    ],
    ["an argument that would be an option", { a: { command: ["echo", "{}"] } }, "cmd://a/-x", /as an option/],
    ["an argument where none is wanted", { a: { command: ["echo"] } }, "cmd://a/x", /must not have an ARGUMENT/],
    ["no argument where one is wanted", { a: { command: ["echo", "{}"] } }, "cmd://a", /needs an ARGUMENT/],
    ["a broken settings file", { a: "echo" }, "cmd://a", /settings\.json: .*secrets/],
  ])(
    "%s: the reference and what is wrong are told, no secret, and nothing runs",
    async (_title, secrets, reference, told) => {
      await setVariables({ TOKEN: reference, OTHER: "x" });
      await setSecrets(secrets);
      for (const args of [["env"], ["run", "--", "echo", "ran"]]) {
        const { code, output, errorOutput } = await home.run(args);
        expect([code === 0, output]).toEqual([false, ""]);
        expect(errorOutput).toMatch(told);
        if (!errorOutput.includes("settings.json:")) expect(errorOutput).toContain(`${reference} (for TOKEN)`);
        expect(errorOutput.replace(/To see why, run it yourself: .*/, "")).not.toContain("hush");
      }
    },
  );

  test.each([undefined, 60])(
    "a program that does not answer in time is killed, and the command fails: %s",
    async timeout => {
      await setVariables({ TOKEN: "cmd://slow" });
      await setSecrets({ slow: { command: [process.execPath, "-e", "setInterval(Boolean, 1e6)"], timeout } });
      const soon =
        "const { timeout } = AbortSignal; AbortSignal.timeout = time => timeout.call(AbortSignal, time / 50);";
      await home.refuse(1, ["env"], `took more than ${timeout ?? 10} seconds`, {
        nodeArguments: ["--import", `data:text/javascript,${soon}`],
      });
    },
  );

  test("programs that wait for a person do not use up the time of another command", async () => {
    const go = join(home.workFolder, "go");
    const write = `require("node:fs").writeFileSync(${JSON.stringify(go)}, "")`;
    const wait = `setInterval(() => require("node:fs").existsSync(${JSON.stringify(go)}) && process.exit(), 10)`;
    const eight = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`S${index}`, `cmd://slow/${index}`]));
    await setVariables({ ...eight, TOKEN: "cmd://quick" });
    const run = (script: string) => ({ command: [process.execPath, "-e", script], timeout: 20 });
    await setSecrets({ slow: { ...run(wait), command: [...run(wait).command, "{}"] }, quick: run(write) });
    expect(await home.succeed(["env"])).toContain("TOKEN=");
  });

  test("the hook waits as long for a program as its timeout says", async () => {
    const [asked, late] = [join(home.workFolder, "asked"), join(home.workFolder, "late")].map(one =>
      JSON.stringify(one),
    );
    // The prompt's time for the daemon is over while the program runs.
    const over = `import fs from "node:fs"; import timers from "node:timers/promises"; import { syncBuiltinESMExports } from "node:module";
      const { setTimeout: delay } = timers;
      timers.setTimeout = async (time, value, options) => {
        if (time !== 12_000) return delay(time, value, options);
        while (!fs.existsSync(${asked})) await delay(10);
        fs.writeFileSync(${late}, "");
        if (options?.signal?.aborted) throw options.signal.reason;
        return value;
      };
      syncBuiltinESMExports();`;
    const program = `const fs = require("node:fs"); fs.writeFileSync(${asked}, "");
      const end = () => setTimeout(() => console.log("s3cret"), 200);
      const timer = setInterval(() => fs.existsSync(${late}) && (clearInterval(timer), end()), 10)`;
    await setVariables({ TOKEN: "cmd://person" });
    await setSecrets({ person: { command: [process.execPath, "-e", program], timeout: 60 } });
    const nodeArguments = ["--import", `data:text/javascript,${encodeURIComponent(over)}`];
    expect((await home.run(["hook-load", "bash"], { nodeArguments })).output).toContain("'TOKEN' 's3cret'");
  });

  test("list, history, events and the file contain only the reference", async () => {
    await using home = await makeShop();
    await setVariables({ TOKEN: "cmd://a/b" }, home);
    await setSecrets({ a: { command: ["echo", "hush", "{}"] } }, home);
    expect(await home.succeed(["env"])).toContain("__repoconf_export TOKEN='hush b'\n");
    for (const args of [["list"], ["history"], ["export"], ["diff", "1"]]) {
      const output = await home.succeed([...args, "--reveal"]);
      expect(output).toContain("cmd://a/b");
      expect(output).not.toContain("hush");
    }
  });

  test("a plain value in a field with x-secret is set with a warning; a reference or an empty value causes none", async () => {
    const token = { type: "string", default: "", "x-secret": true, "x-masked": true };
    await addScope(home, "deploy", { token, list: { type: "array", default: [], "x-secret": true } });
    const { code, errorOutput } = await home.run(["set", "deploy.token=hush-hush"]);
    expect([code, errorOutput]).toEqual([0, expect.stringMatching(/deploy\.token.*cmd:\/\//)]);
    expect(errorOutput).not.toContain("hush");
    expect(await home.succeed(["get", "deploy.token", "--reveal"])).toBe("hush-hush\n");
    expect((await home.run(["set", "deploy.list+=hush"])).errorOutput).toContain("deploy.list");
    await home.succeed(["set", "deploy.token=cmd://op/a", "deploy.list=[]"]);
    await home.succeed(["set", "deploy.token="]);
    await writeFile(join(home.workFolder, "values.json"), JSON.stringify({ deploy: { token: "hush" } }));
    expect((await home.run(["import", "values.json", "--yes"])).errorOutput).toContain("deploy.token");
  });
});
