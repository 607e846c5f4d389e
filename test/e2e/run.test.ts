import { mkdir, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { addScope, hasTerminal, makeShop, startOnTerminal } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { filesBelow } from "../helpers/home-files.ts";

const properties = {
  token: { type: "string", default: "", "x-env": "DEPLOY_TOKEN", "x-masked": true, "x-secret": true },
  options: { type: "object", default: {}, "x-env": "DEPLOY_OPTIONS" },
  stage: { type: "string", default: "test" },
};

/** A home with the repository `shop`, which has the variable A, and with the scope `deploy`. */
const home = await makeShop();
afterAll(() => home[Symbol.asyncDispose]());
await addScope(home, "deploy", properties);
const setA = (value: string, name = "A") =>
  home.succeed(["set", `svc.envvars=[{"name":"${name}","value":"${value}"}]`]);
beforeEach(async () => void (await setA("one")));

/** A work tree with these values, which is added as a repository. */
async function addTree(name: string, config: object): Promise<string> {
  const folder = join(await realpath(home.workFolder), name);
  await mkdir(folder);
  await writeFile(join(folder, ".repoconf.json"), JSON.stringify({ config }));
  await home.succeed(["repo", "add", folder, "--in-tree", "--json"]);
  return folder;
}

const script = (code: string) => [process.execPath, "-e", code];

describe("repoconf run", () => {
  test("adds the variables and the fields with x-env to the environment, text unchanged and other types as JSON", async () => {
    await home.succeed(["set", 'deploy.options={"a":[1,"b"]}', "deploy.stage=live"]);
    const { A, DEPLOY_TOKEN, DEPLOY_OPTIONS, MINE, deploy } = JSON.parse(
      await home.succeed(["run", "--", ...script("console.log(JSON.stringify(process.env))")], {
        environment: { MINE: "kept", A: "replaced" },
      }),
    );
    expect({ A, DEPLOY_TOKEN, DEPLOY_OPTIONS, MINE, deploy }).toEqual({
      A: "one",
      DEPLOY_TOKEN: "",
      DEPLOY_OPTIONS: '{"a":[1,"b"]}',
      MINE: "kept",
    });
  });

  test.each<[title: string, command: readonly string[], code: number | null]>([
    ["its exit code", script("process.exit(7)"), 7],
    // It is its own: a shell makes 137 of it.
    ["a signal that ends it", script("process.kill(process.pid, 'SIGKILL')"), null],
    ["127 for one that is not there", ["no-such-command"], 127],
    ["126 for one that cannot be run", ["./"], 126],
  ])("passes on %s", async (_title, command, code) => {
    expect((await home.run(["run", "--", ...command])).code).toBe(code);
  });

  test("standard input reaches the command, and so do its options, even without --", async () => {
    const code = "process.stdin.pipe(process.stdout); console.log(process.argv.slice(1).join())";
    const output = await home.succeed(["run", process.execPath, "-e", code, "--", "--watch", "--repo"], {
      input: "typed",
    });
    expect(output).toBe("--watch,--repo\ntyped");
  });

  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("forwards %s, and exits as the command does", async signal => {
    const code = `process.on("${signal}", () => { console.log("caught"); process.exit(9); }); setInterval(() => {}, 1e6); console.log("ready");`;
    using command = home.start(["run", "--", ...script(code)]);
    await until(() => command.output().includes("ready"), "the command");
    command.process.kill(signal);
    expect(await command.ended).toBe(9);
    expect(command.output()).toBe("ready\ncaught\n");
  });

  test("Ctrl+C on a terminal reaches the command, which says how it ends", async ({ skip }) => {
    skip(!hasTerminal, "no script");
    const file = join(home.workFolder, "count.cjs");
    const code = `process.on("SIGINT", () => { console.log("caught"); process.exit(4); }); setInterval(() => {}, 1e6); console.log("ready");`;
    await writeFile(file, code);
    using terminal = startOnTerminal(home, ["run", "--", process.execPath, file]);
    await until(() => terminal.output().includes("ready"), "the command");
    terminal.process.stdin.write("\u0003");
    expect(await terminal.ended).toBe(4);
    expect(terminal.output()).toContain("caught");
  });

  test("a work tree's variables wait for trust: nothing runs, with a next step; other waiting values do not matter", async () => {
    const svc = { services: { web: { ready: "evil", image: "" } } };
    const folder = await addTree("site", { svc, deploy: { options: { evil: true } } });
    const command = ["run", "--", ...script("console.log('ran', process.env.DEPLOY_OPTIONS)")];
    const said = /^(?![\s\S]*svc\.services)[\s\S]*deploy\.options.*repoconf trust --repo/;
    for (const args of [command, ["env"]]) await home.refuse(3, args, said, { folder });
    const waiting: { readonly field: string; readonly hash: string }[] = await home.json(["trust"], { folder });
    const hash = waiting.find(({ field }) => field === "deploy.options")?.hash ?? "";
    await home.succeed(["trust", "--accept", hash], { folder });
    expect(await home.succeed(command, { folder })).toBe('ran {"evil":true}\n');
  });

  test("a key without the right to list untrusted values is refused too", async () => {
    const svc = { envvars: [{ name: "NODE_OPTIONS", value: "--require ./evil.js" }] };
    const folder = await addTree("other", { svc });
    const { output: key } = await home.run(["key", "create", "tool"]);
    const environment = { REPOCONF_API_KEY: key.trim() };
    await home.refuse(5, ["run", "--", ...script("console.log('ran')")], "svc.envvars", { folder, environment });
  });

  test("two values for one variable are refused, naming both fields", async () => {
    await setA("one", "DEPLOY_TOKEN");
    await home.refuse(3, ["run", "true"], "svc.envvars and deploy.token would both be DEPLOY_TOKEN");
  });

  test("writes nothing to disk", async () => {
    const secret = "never-on-the-disk-again";
    await home.put("settings.json", { secrets: { echo: { command: ["printf", "%s-%s", "never-on-the-disk", "{}"] } } });
    await setA("cmd://echo/again");
    expect(await home.succeed(["run", "--", ...script("console.log(process.env.A)")])).toBe(`${secret}\n`);
    for (const [path, text] of Object.entries(await filesBelow(home.workFolder)))
      expect(text, path).not.toContain(secret);
  });
});

describe("repoconf run --watch", () => {
  const code = `process.on("SIGTERM", () => { console.log("end"); process.exit(5); }); setInterval(() => {}, 1e6); console.log("start " + process.env.A);`;

  test("restarts the command once for each change of its environment, and only then", async () => {
    using command = home.start(["run", "--watch", "--", ...script(code)]);
    await until(() => command.output().includes("start one"), "the command");
    // A field that is not a variable, and the same value again in a new revision.
    await home.succeed(["set", "svc.timeout=31"]);
    await setA("two");
    await until(() => command.output().includes("start two"), "the second start");
    await home.succeed(["set", "svc.timeout=32"]);
    await home.succeed(["set", `svc.envvars=[{"name":"A","value":"three"}]`, "svc.timeout=33"]);
    await until(() => command.output().includes("start three"), "the third start");
    command.process.kill("SIGTERM");
    expect(await command.ended).toBe(5);
    expect(command.output()).toBe("start one\nend\nstart two\nend\nstart three\nend\n");
  });

  test("waits for a change when the command exits, and ends on a signal meanwhile", async () => {
    using command = home.start(["run", "--watch", "--", ...script("console.log(process.env.A)")]);
    await until(() => command.errorOutput().includes("exited with 0"), "the end");
    await setA("two");
    await until(() => command.output() === "one\ntwo\n", "the second start");
    await until(() => (command.errorOutput().match(/exited with 0/g) ?? []).length === 2, "the second end");
    command.process.kill("SIGTERM");
    expect(await command.ended).toBe(143);
  });

  test("a missing command ends it at once", async () => {
    expect((await home.run(["run", "--watch", "--", "no-such-command"])).code).toBe(127);
  });

  test("the command keeps running with its environment when a changed one is invalid", async () => {
    using command = home.start(["run", "--watch", "--", ...script(code)]);
    await until(() => command.output().includes("start one"), "the command");
    await setA("cmd://nobody/knows");
    await until(() => command.errorOutput().includes("cmd://nobody/knows"), "the failure");
    await setA("two");
    await until(() => command.output().includes("start two"), "the second start");
    command.process.kill("SIGTERM");
    await command.ended;
    expect(command.output()).toBe("start one\nend\nstart two\nend\n");
  });

  test("a value that comes to wait for trust, as by a checkout, is told once, and the command keeps its environment", async () => {
    const folder = await addTree("branches", {});
    await home.succeed(["set", "svc.envvars.A=mine"], { folder });
    using command = home.start(["run", "--watch", "--", ...script(code)], { folder });
    await until(() => command.output().includes("start mine"), "the command");
    const theirs = { config: { svc: { envvars: [{ name: "A", value: "theirs" }] } } };
    await writeFile(join(folder, ".repoconf.json"), JSON.stringify(theirs));
    await until(() => command.errorOutput().includes("repoconf trust --repo"), "the message");
    await home.succeed(["set", "svc.timeout=34"], { folder });
    await home.succeed(["set", 'svc.envvars=[{"name":"A","value":"new"}]'], { folder });
    await until(() => command.output().includes("start new"), "the second start");
    command.process.kill("SIGTERM");
    await command.ended;
    expect(command.output()).toBe("start mine\nend\nstart new\nend\n");
    expect(command.errorOutput().match(/repoconf trust --repo/g)).toHaveLength(1);
  });
});
