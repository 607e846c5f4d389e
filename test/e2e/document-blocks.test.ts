import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ParseError, parse } from "jsonc-parser";
import { describe, expect, test } from "vitest";
import { parseSettings } from "../../main/home/settings.ts";
import { type CommandHome, hasTerminal, makeServedHome, withCommand } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { type Block, blocks } from "../helpers/document-blocks.ts";
import { git } from "../helpers/git.ts";
import { isShellThere, withoutManualPages } from "../helpers/prompting-shell.ts";
import { python } from "../helpers/python.ts";
import { titleWith } from "../helpers/skips.ts";
import { type Finished, projectFolder, type RunOptions, runProcess, startProcess } from "../helpers/spawned-daemon.ts";
import { sessions } from "../helpers/typed-session.ts";

/** Blocks that something else runs, or that cannot run here: the beginning of their code, and what runs them. */
const elsewhere: { readonly [document: string]: readonly (readonly [begin: string, by: string])[] } = {
  "README.md": [
    ["import {", "below"],
    ["npm ci    ", "every test runs on what npm ci installs; readme-session.test.ts types the rest"],
    ["npm ci &&", ".ci/run"],
  ],
  "CONTRIBUTING.md": [
    ["npm ci", "they are how the tests are run"],
    ["shared/", "documents.test.ts: a tree of folders"],
  ],
  "docs/getting-started.md": [["npm ci", "as README.md"]],
  "docs/agents.md": [["config_find", "agents.test.ts"]],
  "docs/shell.md": [
    ["repoconf hook pwsh", "hook-pwsh.test.ts parses what it prints; there is no PowerShell to run it"],
  ],
  "docs/performance.md": [["strace", "it takes hours, and a disk that is slowed down"]],
  "docs/scaling.md": [
    ["nats-server", "nats-server.ts starts it with a folder and a port of its own"],
    ["repoconf daemon --log", "shared-log.test.ts"],
    ["repoconf log copy", "shared-log.test.ts"],
    ["# server 1", "it needs three machines; nats-server.ts has clusters on one"],
  ],
  "docs/protocol.md": [["", "protocol-blocks.test.ts and one-shot-examples.test.ts"]],
  "docs/tool-of-your-own.md": [
    ["export REPOCONF_API_KEY", "preview.test.ts"],
    ["declare module", "package.test.ts"],
  ],
};

const examples = await readExamples();

async function readExamples(): Promise<string[]> {
  const folder = join(projectFolder, "examples");
  const files = (await readdir(folder, { recursive: true })).filter(name => /\.\w+$/.test(name));
  return Promise.all(files.map(name => readFile(join(folder, name), "utf8")));
}

/** What is typed before a block, and whether it asks, which is answered with yes. */
const prepared: { readonly [document: string]: readonly (readonly [begin: string, before: string, asks?: true])[] } = {
  "docs/agents.md": [
    [
      "repoconf history",
      "key=$(repoconf key create claude-shop --repo shop --write 'svc.*'); REPOCONF_API_KEY=$key repoconf set svc.timeout=60",
      true,
    ],
  ],
  "docs/shell.md": [["repoconf import", "", true]],
  "docs/tool-of-your-own.md": [
    ["repoconf scope add", "", true],
    ["repoconf types", "mkdir -p .repoconf/scopes; cp ~/src/repoconf/examples/scopes/*.json .repoconf/scopes/"],
  ],
};

/** Lines that run until somebody stops them: each appends to a file when values change. */
const endless = /run --watch|watch .*--exec|watch\.py/;

const shells = ["sh", "bash", "zsh", "fish"];

function named<Rule extends readonly [string, ...unknown[]]>(
  rules: { readonly [document: string]: readonly Rule[] },
  { document, code }: Block,
): Rule | undefined {
  return rules[document]?.find(([begin]) => code.startsWith(begin));
}

const titleOf = ({ document, code }: Block) => `${document}: ${code.split("\n", 1)[0]}`;

/** What a block needs that this machine does not have. */
function missingFor(block: Block): string | undefined {
  if (!isShellThere(block.language)) return block.language;
  if (block.code.includes("python3") && python === undefined) return "python3 with Socket.IO";
  return named(prepared, block)?.[2] === true && !hasTerminal ? "script" : undefined;
}

/** A work tree "shop" with all that the blocks need. */
async function prepareShop(home: CommandHome): Promise<string> {
  const shop = join(home.workFolder, "src/shop");
  await mkdir(shop, { recursive: true });
  await symlink(projectFolder, join(home.workFolder, "src/repoconf"));
  const act = "echo acted >> acts";
  const files = {
    "package.json": JSON.stringify({ scripts: { start: act, test: act } }),
    "reload.sh": `#!/bin/sh\n${act}\n`,
    ".env": "HOST=localhost\n",
    "compose.yaml": "services:\n  web:\n    image: node:24\n    environment:\n      PORT: 3000\n",
    "mise.toml": '[env]\nLEVEL = "debug"\n',
    ".envrc": "export COLOR=red\n",
    "config.yaml": 'server:\n  port: "8081"\n  hosts: [shop.test]\n',
    "mapping.json": blocks.find(({ code }) => code.startsWith('{ "/server/port"'))?.code ?? "",
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(shop, name), text, { mode: 0o755 });
  await git(shop, "init", "-q");
  await home.succeed(["repo", "add", shop, "--id", "shop", "--name", "shop", "--in-tree"]);
  await home.succeed(["set", "svc.envvars.PORT=3000", "svc.timeout=30"], { folder: shop });
  return shop;
}

/** Starts a line, changes values until it acts, and stops it. */
async function runUntilItActs(home: CommandHome, folder: string, line: string, environment: Environment) {
  const acts = async () => {
    const files = ["acts", "changes.jsonl"].map(name => readFile(join(folder, name), "utf8").catch(() => ""));
    return (await Promise.all(files)).join("").length;
  };
  const before = await acts();
  using running = startProcess("sh", ["-c", `exec ${line}`], { folder, environment });
  let asked = 0;
  await until(async () => {
    asked += 1;
    const web = `svc.services.web={"ready":"true","image":"node:${asked}"}`;
    // Ever more rarely: each change may stop what has not acted yet.
    if (Number.isInteger(Math.log2(asked))) await home.succeed(["set", `svc.envvars.HOUR=${asked}`, web], { folder });
    return (await acts()) > before;
  }, `an act of ${line}${running.errorOutput()}`);
  running.process.kill("SIGTERM");
  await running.ended;
}

/** Runs a command on a terminal, and answers yes whenever it asks. */
async function runAnswering(command: string, args: readonly string[], options: RunOptions): Promise<Finished> {
  const line = [command, ...args].map(word => `'${word}'`).join(" ");
  using running = startProcess("script", ["-qec", `exec ${line}`, "/dev/null"], options);
  const { process: terminal, output, errorOutput, ended } = running;
  let answered = 0;
  terminal.stdout.on("data", () => {
    for (const asked = output().split("[y/N]").length - 1; answered < asked; answered++) terminal.stdin.write("y\n");
  });
  return { code: await ended, output: output(), errorOutput: errorOutput() };
}

type Environment = { readonly [name: string]: string };

describe.concurrent("what a document says to type in a shell works there", () => {
  for (const block of blocks) {
    // guide.test.ts runs the examples.
    if (!shells.includes(block.language) || examples.includes(block.code) || named(elsewhere, block)) continue;
    const missing = missingFor(block);
    test.skipIf(missing !== undefined)(titleWith(missing === undefined, missing ?? "", titleOf(block)), async () => {
      await using home = await makeServedHome(false);
      const folder = await prepareShop(home);
      const environment = { ...(await withCommand(home)), HOME: home.workFolder };
      await withoutManualPages(join(home.workFolder, ".local/share"));
      // Not every machine has it, and it does nothing here that needs it.
      await writeFile(join(home.workFolder, "bin/make"), "#!/bin/sh\necho acted >> acts\n", { mode: 0o755 });
      const lines = block.code
        .replaceAll("~/.local/share/repoconf", home.homeFolder)
        .replaceAll("13d384c8abb1ce51112f5f8b", "shop")
        .replace("python3", python ?? "")
        .split("\n");
      const [, before = "", asks] = named(prepared, block) ?? [];
      const file = join(home.workFolder, "block");
      await writeFile(file, [before, ...lines.filter(line => !endless.test(line))].join("\n"));
      // fish has no -e, and its hook is for interactive shells.
      const command = block.language === "fish" ? `fish -i -c "source ${file}"` : `${block.language} -e ${file}`;
      const run = asks ? runAnswering : runProcess;
      const { code, output, errorOutput } = await run("sh", ["-c", command], { folder, environment });
      expect(code, output + errorOutput).toBe(0);
      expect(errorOutput).not.toMatch(/repoconf: |error/i);
      for (const line of lines.filter(one => endless.test(one))) await runUntilItActs(home, folder, line, environment);
    });
  }
});

test.skipIf(process.platform === "win32")("README.md: its code sets a value and tells of a change", async () => {
  await using home = await makeServedHome();
  const folder = await prepareShop(home);
  await symlink(join(home.workFolder, "src"), join(home.workFolder, "node_modules"));
  const code = blocks.find(({ document, language }) => document === "README.md" && language === "ts")?.code ?? "";
  await writeFile(join(home.workFolder, "tool.ts"), code);
  const environment = { REPOCONF_HOME: home.homeFolder };
  using running = startProcess(process.execPath, ["../../tool.ts"], { folder, environment });
  await until(async () => (await home.succeed(["get", "svc.timeout"], { folder })) === "30\n", "its value");
  let hour = 0;
  await until(async () => {
    hour = (hour + 1) % 24;
    await home.succeed(["set", `svc.refresh_hour=${hour}`], { folder });
    return running.output().includes("refresh_hour");
  }, "its line");
});

/** Whether something reads a block that nobody types: what does depends on its language. */
async function isRead({ document, code, language }: Block): Promise<boolean> {
  if (examples.includes(code)) return true;
  if (language === "console") return sessions.some(([name]) => name === document);
  // Drawings and synopses; their commands are parsed by documents.test.ts.
  if (language === "") return ["docs/architecture.md", "docs/cli.md"].includes(document);
  if (language === "yaml") return examples.some(text => code.split("\n").every(line => text.includes(`${line}\n`)));
  if (!["json", "jsonc"].includes(language)) return false;
  const problems: ParseError[] = [];
  const value: unknown = parse(code.startsWith('"') ? `{${code}}` : code, problems);
  const settings = code.includes('"log":') || code.includes('"secrets":');
  return problems.length === 0 && (!settings || parseSettings(JSON.stringify(value)) !== undefined);
}

test("each other block is read by what reads such a text, or the table above names what runs it", async () => {
  const others = blocks.filter(block => !shells.includes(block.language) && named(elsewhere, block) === undefined);
  const read = await Promise.all(others.map(async block => ((await isRead(block)) ? [] : [titleOf(block)])));
  expect(read.flat()).toEqual([]);
  const rules = [elsewhere, prepared].flatMap(table =>
    Object.entries(table).flatMap(([document, list]) => list.map(([begin]) => ({ document, begin }))),
  );
  const isUsed = ({ document, begin }: { document: string; begin: string }) =>
    blocks.some(block => block.document === document && block.code.startsWith(begin));
  expect(rules.filter(rule => !isUsed(rule))).toEqual([]);
});
