import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "jsonc-parser";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseQuery } from "../../shared/query/parse-query.ts";
import { startTestDaemon, type TestDaemon, until } from "../helpers/daemon.ts";
import { blocks } from "../helpers/document-blocks.ts";
import { rawRequest } from "../helpers/raw-http.ts";
import { projectFolder, runProcess } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

/*
 * docs/protocol.md: each of its blocks is what the daemon does. What is sent is sent as it stands, and answered as it stands except for
 * ids, keys and times; an example of an answer has the members that the daemon's answer has.
 */

const ofProtocol = blocks.filter(({ document }) => document === "docs/protocol.md").map(({ code }) => code);

const used = new Set<string>();

/** The only block with this text. */
function blockWith(text: string): string {
  const [found = "", ...more] = ofProtocol.filter(code => code.includes(text));
  expect([found !== "", more], text).toEqual([true, []]);
  used.add(found);
  return found;
}

let t: TestDaemon;
let screen: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  screen = await temporaryFolder();
  await writeFile(join(screen.path, "index.html"), "<title>Repoconf</title>");
  t = await startTestDaemon({ repositories: ["blog", "shop"], screenFolder: screen.path });
});
afterAll(async () => {
  await t[Symbol.asyncDispose]();
  await screen[Symbol.asyncDispose]();
});

/** What is in place of ids, keys and times. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value)
    .replace(/repoconf_[0-9a-f]{12}_[\w-]{43}/g, "KEY")
    .replace(/"([0-9a-f]{24}|[0-9a-f]{12})"/g, '"ID"')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME");
  return JSON.parse(text);
}

/** The members of a value and of what is in it, with the types of the others. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]));
}

/** Sends what a block sends through `socket`, and compares the reply with the one that it shows. */
async function send(text: string, { owner }: TestDaemon): Promise<void> {
  const [request = "", reply] = blockWith(text).split("// replies\n");
  const run = new Function("socket", `return ${request.replace("await ", "")}`);
  const answer = await run(owner.socket);
  if (reply === undefined) expect(answer.errors).toEqual([]);
  else expect(plain(answer)).toMatchObject(plain(JSON.parse(reply)) as object);
}

test("its examples of answers are what the daemon answers", async () => {
  const { owner } = t;
  const shown = (text: string) => JSON.parse(blockWith(text));
  await owner.call("config/watch", { repo: "shop" });
  await owner.call("config/set", { repo: "shop", "svc.timeout": 30, reason: "slow machine" });
  const { result, errors } = await owner.call("config/matrix", { query: "field:svc.timeout" });
  expect.soft({ result, errors }).toEqual(shown('"total"'));
  const cells = await owner.call("config/cells", { repo: ["shop"], fields: ["svc.timeout"] });
  expect.soft({ result: cells.result, errors: cells.errors }).toEqual(shown('"stored":["svc.timeout"]'));
  const explained = await owner.call("config/explain", { repo: "shop", field: "svc.timeout" });
  expect.soft(shapeOf(explained.result)).toEqual(shapeOf(shown('"origin":"stored"')));
  const [entry] = (await owner.call("history/list", { repo: "shop" })).result;
  expect.soft(plain(entry)).toEqual(plain(shown('"reason":"slow machine",\n "changes"')));
  await until(() => owner.events.some(([resource]) => resource === "config"), "the event");
  const event = owner.events.find(([resource]) => resource === "config");
  expect.soft(shapeOf(event)).toEqual(shapeOf(shown('["config","changed",{')));
  await owner.call("config/set", { repo: "shop", "svc.domain": "shop.example" });
  const found = await owner.call("config/search", { query: "shop" });
  expect.soft({ result: found.result, errors: found.errors }).toEqual(shown('"value":"shop.example"'));
  const [blog] = (await owner.call("repo/list", { repo: "blog" })).result;
  expect.soft(shapeOf(blog)).toEqual(shapeOf(shown('"name":"blog"')));
  const status = await owner.call("daemon/status");
  expect
    .soft(Object.keys(status.result).toSorted())
    .toEqual(Object.keys(shown('"startedAt":"2026-11-21T03:21:56.528Z"').result).toSorted());
  await t.writeRepository("blog", `{ "name": "blog", "config": { "svc": { "timeout": "soon" } } }`);
  const health = async () => (await owner.call("repo/list", { repo: "blog" })).result[0]?.health ?? [];
  await until(async () => (await health()).length > 0, "the problem");
  expect.soft(shapeOf((await health())[0])).toEqual(shapeOf(shown('"code":1103,"message":"svc.timeout must')));
  const endpoint = JSON.parse(await readFile(join(t.homeFolder, "daemon.json"), "utf8"));
  expect.soft(shapeOf(endpoint)).toEqual(shapeOf(shown('"instanceSecret": ')));
});

test("what it sends is answered as it shows", async () => {
  await using fresh = await startTestDaemon({ repositories: ["shop"] });
  const set = (fields: object) => fresh.owner.call("config/set", { repo: "shop", ...fields });
  await set({ "svc.timeout": 30 });
  await send('["shop", "nope"]', fresh);
  const web = { web: { ready: "true", image: "node:24" } };
  await set({ "svc.services": web, "svc.default": "web", "svc.envvars": [{ name: "PORT", value: "1" }] });
  for (const text of ["edits: [\n", "typed: [\n", '"svc.services": {} }', '"key", "create"']) await send(text, fresh);
});

const overSocket = "new Agent()";
const ask = `console.log(JSON.stringify(await socket.emitWithAck(...request))); process.exit();`;

test.skipIf(process.platform === "win32").each([
  ["over the Unix socket", [overSocket], ask],
  ["with the handshake", ["createHash, createHmac"], ask],
  ["with a reply", [overSocket, "const reply ="], "console.log(JSON.stringify(reply)); process.exit();"],
  ["after a check of the identity", ["instanceSecret }"], 'console.log("the same")'],
])("its ways to connect work as they stand: %s", async (_, texts, end) => {
  await using folder = await temporaryFolder();
  await symlink(join(projectFolder, "node_modules"), join(folder.path, "node_modules"));
  // What a block imports is in a comment.
  const imported = /^\/\/ (import .*)$/m;
  const parts = texts.map(blockWith);
  const program = [
    ...parts.map(code => imported.exec(code)?.[1] ?? ""),
    'import { readFileSync as read } from "node:fs";',
    "const home = process.env.REPOCONF_HOME;",
    'const { url, socket: socketPath } = JSON.parse(read(home + "/daemon.json", "utf8"));',
    'const apiKey = read(home + "/owner.key", "utf8").trim();',
    'const [resource, operation, args] = ["config", "list", { repo: "shop", field: "svc.default_port" }];',
    'const request = ["svc", resource, operation, args];',
    `{ ${parts.join("\n")}\n${end} }`,
  ];
  await writeFile(join(folder.path, "program.mjs"), program.join("\n"));
  const environment = { REPOCONF_HOME: t.homeFolder };
  const { output, errorOutput } = await runProcess(process.execPath, ["program.mjs"], {
    folder: folder.path,
    environment,
  });
  expect(errorOutput).toBe("");
  expect(output).toContain(end.includes("the same") ? "the same" : '"default_port":"8080"');
});

test("its files are read as they stand", async () => {
  const written = parse(blockWith("the CI machine is slow"));
  const fields = Object.entries(written.config.svc).map(([name, value]) => [`svc.${name}`, value]);
  const { errors } = await t.owner.call("config/set", { repo: "shop", ...Object.fromEntries(fields) });
  expect(errors).toEqual([]);
  await mkdir(join(t.homeFolder, "scopes"), { recursive: true });
  await writeFile(join(t.homeFolder, "scopes/deploy.schema.json"), blockWith("how the repository is deployed"));
  const scopes = async () => (await t.owner.call("scope/list")).result.map(({ scope }) => scope);
  await until(async () => (await scopes()).includes("deploy"), "the scope");
});

test("its other texts are read by what reads them", async () => {
  expect(parseQuery(blockWith("modified by:ci").trim(), Date.now())).not.toHaveLength(0);
  for (const line of blockWith('"keyMade"').trim().split("\n")) expect(JSON.parse(line)).toHaveProperty("event");
  const { headers } = await rawRequest(t.url, "/", { headers: [`Host: ${t.screenHost}`] });
  const policy = headers.get("content-security-policy")?.replace(/'nonce-[^']+'/, "'nonce-N'");
  expect(policy).toBe(blockWith("default-src").trim().replace(/\s+/g, " ").replace("HOST", t.screenHost));
});

test("each of its blocks is in a test above, but for the one that one-shot-examples.test.ts sends", () => {
  expect(ofProtocol.filter(code => !used.has(code) && !code.startsWith("POST "))).toEqual([]);
});
