import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestDaemon, type TestClient, until } from "../../helpers/daemon.ts";

const reader = [{ repos: "*" as const, fields: ["svc.timeout"], right: "read" as const }];
const writer = [{ repos: "*" as const, fields: ["svc.timeout"], right: "write" as const }];
const secret = "payroll-database";
const broken = `{ "config": { "svc": { "services": { "${secret}": {}, "${secret}": {} } } } }`;

test("a problem with a whole file names nothing in it to a key that may not read all of it", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository();
  const client = await t.connectWith(writer);
  await client.call("config/watch");
  await t.writeRepository(repo, broken);
  await until(() => client.events.some(([, event]) => event === "health"), "the health event");
  const said = [
    client.events,
    await client.call("repo/list"),
    await client.call("config/set", { repo, "svc.timeout": 1 }),
    await client.call("config/set", { repo, "svc.timeout": 1, atomic: true }),
  ];
  expect(JSON.stringify(said)).not.toContain(secret);
  expect(JSON.stringify(said)).toContain("file is invalid");
  // The owner sees what to fix.
  expect(JSON.stringify(await t.owner.call("repo/list"))).toContain(secret);
});

test("a key that may not read all of a file does not learn how many of its problems are not listed", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository();
  const unknown = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`f${index}`, 1]));
  await t.writeRepository(repo, JSON.stringify({ config: { svc: unknown } }));
  const more = async (client: TestClient) => JSON.stringify(await client.call("repo/list")).includes("more values");
  await until(() => more(t.owner), "the owner to see how many more there are");
  expect(await more(await t.connectWith(writer))).toBe(false);
});

test("a list of a repository that never had valid values names nothing in its broken file", async () => {
  await using t = await startTestDaemon();
  await t.writeRepository("fresh", broken);
  await until(async () => (await t.owner.call("repo/list")).result.length === 1, "the repository");
  const client = await t.connectWith(reader);
  const reply = await client.call("config/list", { repo: "fresh" });
  expect(reply).toMatchObject({ result: {}, errors: [{ code: 1106 }] });
  expect(JSON.stringify(reply)).not.toContain(secret);
});

test("scope/list includes only the definitions that readable fields refer to", async () => {
  await using t = await startTestDaemon();
  const schema = {
    type: "object",
    properties: {
      open: { $ref: "#/$defs/size", default: 1 },
      closed: { $ref: "#/$defs/hosts", default: "vault.internal" },
    },
    $defs: {
      size: { allOf: [{ $ref: "#/$defs/number" }] },
      number: { type: "integer" },
      hosts: { enum: ["vault.internal"] },
    },
  };
  await writeFile(join(t.homeFolder, "scopes/deploy.schema.json"), JSON.stringify(schema));
  await until(async () => (await t.owner.call("scope/list")).result.length === 2, "the scope");
  const client = await t.connectWith([{ repos: "*", fields: ["deploy.open"], right: "read" }]);
  const { result } = await client.call("scope/list");
  expect(result).toEqual([
    {
      scope: "deploy",
      schema: {
        type: "object",
        properties: { open: schema.properties.open },
        $defs: { size: schema.$defs.size, number: schema.$defs.number },
      },
    },
  ]);
});

test("config/explain names the file to the owner only", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository();
  // No flush: the reply waits until the file has what it reports.
  await t.owner.call("config/set", { repo, "svc.timeout": 5 });
  const args = { repo, field: "svc.timeout" };
  const { result: owner } = await t.owner.call("config/explain", args);
  expect(owner).toEqual({
    value: 5,
    default: 900,
    stored: 5,
    origin: "stored",
    revision: 2,
    time: expect.stringMatching(/Z$/),
    actor: "owner",
    source: "set",
    file: t.repositoryFile(repo),
    line: 6,
    column: 18,
  });
  const client = await t.connectWith(reader);
  const { result } = await client.call("config/explain", args);
  const { file: _, line: __, column: ___, ...rest } = owner;
  expect(result).toEqual(rest);
});
