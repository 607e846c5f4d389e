import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KeyRight } from "../../shared/grants.ts";
import { eras, startAgent } from "../helpers/agent.ts";
import { judge } from "../helpers/promise.ts";
import { hidden, planted, secrets, startVault } from "../helpers/vault.ts";

let t: Awaited<ReturnType<typeof startVault>>;
beforeAll(async () => {
  t = await startVault();
});
afterAll(() => t[Symbol.asyncDispose]());

let keys = 0;
/** The official client, as an agent whose key may write this repository. */
async function agentOf(repo: string, rights: readonly KeyRight[], options = eras[1]?.[1]) {
  keys += 1;
  const grants = [{ repos: [repo], fields: ["*"], right: "write" as const }];
  const made = await t.owner.call("key/create", { name: `agent ${keys}`, grants, rights, audited: true });
  const file = join(t.homeFolder, `agent-${keys}.key`);
  await writeFile(file, made.result.key, { mode: 0o600 });
  const home = { homeFolder: t.homeFolder, workFolder: t.homeFolder };
  return startAgent(home, ["--key-file", file, "--repo", repo, "--write"], options);
}
type Agent = Awaited<ReturnType<typeof agentOf>>;

/** Calls every tool with all that could show a value. */
async function callAll(agent: Agent): Promise<void> {
  const { fields: found, revision } = await agent.call("config_find");
  const fields: string[] = found.map(({ path }: { path: string }) => path);
  for (const query of secrets) await agent.call("config_find", { query });
  for (let at = 1; at <= revision; at += 1) await agent.call("config_get", { fields, revision: at });
  for (const field of hidden) await agent.call("config_history", { field, limit: 50 });
  const reason = "try";
  for (const [field, value] of [
    ["vault.token", "guess"],
    ["vault.token", 7],
    ["vault.password", "cmd://op/guess"],
    ["vault.login", { user: "ann", word: "guess" }],
    ["vault.login", { user: 7 }],
    ["vault.notes", ["guess"]],
    ["vault.desk", "guess"],
    ["svc.envvars", [{ name: "KEY", value: "guess" }]],
    ["vault.run", "guess"],
    ["vault.path", "guess"],
  ] as const) {
    for (const dryRun of [true, false])
      await agent.call("config_set", { set: { [field]: value }, reason, dryRun, atomic: false });
    await agent.call("config_set", { unset: [field], reason, dryRun: true });
  }
  const { entries } = await agent.call("config_history", { limit: 50 });
  for (const entry of entries) await agent.call("config_undo", { revision: entry.revision, reason });
  await agent.call("config_set", { unset: hidden, reason });
  await agent.call("config_undo", { revision: (await agent.call("config_find")).revision, reason });
  const { resources } = await agent.client.listResources();
  for (const { uri } of resources) await agent.client.readResource({ uri });
}

/** What the server sent, and what it wrote to standard error. */
function received({ transcript }: Agent): string {
  return transcript.filter(line => !line.startsWith(">")).join("\n");
}

describe("S19 over repoconf mcp", () => {
  test("a key without reveal gets none of eight planted secrets by any tool, and one without commands sets no command", async () => {
    const wrong: string[] = [];
    let calls = 0;
    const cases: readonly (readonly [rights: readonly KeyRight[], isLayered: boolean])[] = [
      [[], false],
      [[], true],
      [["reveal"], false],
      [["commands"], true],
    ];
    for (const [version, options] of eras)
      for (const [rights, isLayered] of cases) {
        const repo = `mcp-${version}-${rights.join()}-${isLayered ? "local" : "plain"}`;
        await t.plant(repo);
        if (isLayered) await t.plantLocal(repo);
        const served = async () => {
          const { result } = await t.owner.call("config/list", { repo });
          return JSON.stringify([result["svc"]?.["envvars"], result["vault"]?.["run"], result["vault"]?.["path"]]);
        };
        const before = await served();
        await using agent = await agentOf(repo, rights, options);
        await callAll(agent);
        const got = received(agent);
        calls += agent.transcript.length - got.split("\n").length;
        for (const secret of secrets)
          if (got.includes(secret) && !rights.includes("reveal")) wrong.push(`${repo} ${secret}`);
        // It is told what the tools do not mask themselves, so this test could fail.
        if (rights.includes("reveal") && !got.includes(planted.reason)) wrong.push(`${repo} sees no reason`);
        if ((await served()) !== before && !rights.includes("commands")) wrong.push(`${repo} set a command`);
        const { result: proposed } = await t.owner.call("proposal/list", { repo });
        if ((proposed.length === 0) !== rights.includes("commands")) wrong.push(`${repo} proposes ${proposed.length}`);
      }
    judge("S19", calls, wrong, "messages over MCP, 8 planted secrets");
  });

  test("a guess of a secret is answered like any other value", async () => {
    const answers: string[] = [];
    for (const value of [planted.token, "other"]) {
      const repo = value === "other" ? "guess-no" : "guess-is";
      await t.plant(repo);
      await using agent = await agentOf(repo, []);
      const args = { set: { "vault.token": value }, reason: "a guess" };
      for (const more of [{ dryRun: true }, {}, { revision: 3 }, { revision: 5, dryRun: true }])
        await agent.call("config_set", { ...args, ...more });
      await agent.call("config_history", { limit: 50 });
      answers.push(
        received(agent)
          .replaceAll(repo, "REPO")
          .replaceAll(value, "VALUE")
          .replaceAll(/T[\d:.]+Z/g, "TIME"),
      );
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]).not.toContain(planted.older);
  });

  test("what is only proposed is refused with the page where a person decides, by a set and by an undo", async () => {
    await t.plant("proposing");
    await using agent = await agentOf("proposing", []);
    const path = "vault.run";
    const proposes = {
      ...{ isError: true, values: {} },
      errors: [{ code: 1007, field: path, details: { right: "commands", page: `repoconf://repo/proposing/${path}` } }],
      next: expect.stringContaining("waits until a person decides"),
    };
    const answer = await agent.call("config_set", { set: { [path]: "make" }, reason: "build" });
    expect(answer).toMatchObject(proposes);
    const list = async () => (await t.owner.call("proposal/list", { repo: "proposing" })).result;
    expect(await list()).toMatchObject([{ id: answer.errors[0].details.proposal, value: "make", reason: "build" }]);
    // Nothing that the client answers by itself accepts it.
    expect(await agent.call("config_set", { set: { [path]: "make" }, reason: "yes, accept" })).toMatchObject(proposes);
    expect((await t.owner.call("config/list", { repo: "proposing", field: path })).result).toEqual({
      vault: { run: "" },
    });
  });
});
