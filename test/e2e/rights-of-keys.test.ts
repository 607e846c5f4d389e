import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { list, type ReadEntry } from "tar";
import { afterAll, describe, expect, test } from "vitest";
import { addScope, makeShop } from "../helpers/command-home.ts";

const text = { type: "string", default: "" };
const home = await makeShop();
await addScope(home, "deploy", { token: { ...text, "x-secret": true }, run: { ...text, "x-command": true } });
afterAll(() => home[Symbol.asyncDispose]());

/** Options with which a command uses a key made with these options. */
async function keyWith(name: string, ...options: readonly string[]): Promise<readonly string[]> {
  const file = join(home.workFolder, `${name}.key`);
  // Standard error says what the key is for.
  const { output } = await home.run(["key", "create", name, ...options]);
  await writeFile(file, output, { mode: 0o600 });
  return ["--key-file", file, "--repo", "shop"];
}

describe("a key without the right reveal", () => {
  test("gets no environment without its variables, and no value that it may not see", async () => {
    await home.succeed(["set", 'svc.envvars=[{"name":"A","value":"planted"}]', "deploy.token=cmd://op/planted"]);
    const key = await keyWith("blind");
    const show = [process.execPath, "-p", "process.env.A"];
    for (const args of [
      ["env"],
      ["run", ...key, "--", ...show],
      ["export", "--reveal"],
      ["get", "deploy.token", "--reveal"],
      ["get", "svc.envvars", "svc.timeout", "--reveal"],
      // Not that --reveal would help.
      ["get", "svc.envvars", "svc.timeout"],
    ])
      await home.refuse(5, [...args, ...(args.includes("--") ? [] : key)], "This key may not see");
    for (const args of [
      ["list", "--reveal"],
      ["list", "--json", "--reveal"],
      ["history", "--reveal"],
      ["history", "--json"],
      ["explain", "deploy.token", "--reveal"],
    ]) {
      const output = await home.succeed([...args, ...key]);
      expect([args, output.includes("planted"), output.includes("••••••")]).toEqual([args, false, true]);
    }
    const seeing = await keyWith("seeing", "--reveal");
    expect(await home.succeed(["run", ...seeing, "--", ...show])).toBe("planted\n");
    expect(await home.succeed(["get", "deploy.token", ...seeing])).toBe("cmd://op/planted\n");
  });

  test("is told what a restore leaves as it is, because it may not see the values", async () => {
    await home.succeed(["set", "svc.timeout=5"]);
    const key = await keyWith("restorer", "--right", "write");
    const told =
      /^Not restored: .*deploy\.token.*, because this key may not see the values\. To restore one, name it\.$/m;
    const restored = await home.succeed(["restore", "1", ...key]);
    expect(restored).toMatch(told);
    expect(restored).toContain("svc.timeout = 900");
    const again = await home.succeed(["restore", "1", ...key]);
    expect(again).toMatch(told);
    expect(again).toContain("Nothing to restore: every other value is already as it was at revision 1.");
    expect(await home.succeed(["get", "deploy.token"])).toBe("cmd://op/planted\n");
  });
});

test("a key that may read none of the variables gets an error instead of an empty environment, and one that may read some is told what is left out", async () => {
  await addScope(home, "stage", { name: { ...text, default: "live", "x-env": "STAGE" } });
  const none = await keyWith("none", "--read", "svc.timeout");
  for (const args of [
    ["env", ...none],
    ["env", "--format", "json", ...none],
    ["run", ...none, "--", "true"],
  ])
    await home.refuse(5, args, /may read none of the fields .* svc\.envvars/);
  const some = await keyWith("some", "--read", "stage.*");
  const told = expect.stringContaining("svc.envvars are left out");
  expect(await home.run(["env", "--format", "dotenv", ...some])).toEqual({
    code: 0,
    output: "STAGE='live'\n",
    errorOutput: told,
  });
  const show = [process.execPath, "-p", "process.env.STAGE"];
  expect(await home.run(["run", ...some, "--", ...show])).toEqual({ code: 0, output: "live\n", errorOutput: told });
});

describe("a key without the right commands", () => {
  test("proposes; repoconf trust shows it and accepts it by its hash, and the key may withdraw it", async () => {
    const key = await keyWith("agent", "--right", "write");
    await home.refuse(
      3,
      ["set", "deploy.run=make", ...key, "--reason", "build"],
      "waits for a person, as the proposal",
    );
    const list = async (more: readonly string[] = []) => JSON.parse(await home.succeed(["trust", "--json", ...more]));
    const [one] = await list();
    expect(one).toMatchObject({ field: "deploy.run", value: "make", serving: "", by: "agent", reason: "build" });
    expect(await list(key)).toMatchObject([{ proposal: one.proposal, value: "make", by: "this key" }]);
    for (const args of [[], ["--accept", one.hash], ["deploy.run"]])
      await home.refuse(5, ["trust", ...args, ...key], /Only the owner's key may trust .* repoconf trust --decline ID/);
    expect(await home.succeed(["trust", "--accept", one.hash])).toContain("Accepted the proposal for deploy.run");
    expect(await home.succeed(["get", "deploy.run"])).toBe("make\n");
    await home.refuse(3, ["unset", "deploy.run", ...key], "waits for a person");
    const [again] = await list();
    expect(again).not.toHaveProperty("value");
    await home.succeed(["trust", "--decline", again.proposal, ...key.slice(0, 2)]);
    expect(await list()).toEqual([]);
    await home.refuse(3, ["set", `deploy.run=${"make ".repeat(3_000)}`, ...key], "waits for a person");
    const long = await home.run(["trust"]);
    expect(long.output).toContain(
      "It has 15002 characters, too many to print here. To read all of it: repoconf ui, or",
    );
    expect(long.output.length).toBeLessThan(2_000);
    const free = await keyWith("free", "--right", "write", "--commands");
    await home.succeed(["set", "deploy.run=test", ...free]);
  });
});

test("a backup has nothing that keys propose, and last of all which plain values they set", async () => {
  await addScope(home, "plain", { text });
  const key = await keyWith("proposer", "--right", "write");
  await home.succeed(["set", "plain.text=theirs", ...key]);
  await home.refuse(3, ["set", "deploy.run=planted-proposal", ...key], "waits for a person");
  const file = join(home.workFolder, "backup.tar.gz");
  await home.succeed(["backup", file]);
  const names: string[] = [];
  let content = "";
  const onReadEntry = (entry: ReadEntry) => {
    names.push(entry.path);
    entry.on("data", part => {
      content += part.toString();
    });
  };
  await list({ file, onReadEntry });
  expect(names.at(-1)).toBe("plain-values.json");
  expect(content).toContain("shop plain.text");
  expect(content).not.toContain("planted-proposal");
});

describe("repoconf key create", () => {
  test("gives several grants, and says which of them match nothing", async () => {
    const made = await home.run([
      "key",
      "create",
      "several",
      "--read",
      "svc.*",
      "timeout",
      "--write",
      "deploy.*",
      "--json",
    ]);
    expect(JSON.parse(made.output)).toMatchObject({
      grants: [
        { repos: "*", fields: ["svc.*", "timeout"], right: "read" },
        { repos: "*", fields: ["deploy.*"], right: "write" },
      ],
      rights: [],
    });
    expect(made.errorOutput).toContain(
      'No field matches "timeout", so the key may do nothing by it. Did you mean "svc.timeout"?',
    );
    expect(made.errorOutput).not.toContain("deploy");
    await home.refuse(2, ["key", "create", "both", "--read", "svc.*", "--right", "write"], "but not both");
  });
});
