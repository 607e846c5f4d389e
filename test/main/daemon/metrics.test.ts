import { expect, test } from "vitest";
import { Metrics } from "../../../main/daemon/observe/metrics.ts";
import { startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../../helpers/file-system.ts";
import { rawRequest } from "../../helpers/raw-http.ts";

const ask = (t: TestDaemon, headers: Record<string, string>) => fetch(`${t.url}/metrics`, { headers });
const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });

/** The metrics by name, including labels. */
async function numbers(t: TestDaemon): Promise<{ readonly [name: string]: number }> {
  return read(await (await ask(t, bearer(t.ownerKey))).text());
}

function read(text: string): { readonly [name: string]: number } {
  const lines = text.split("\n").filter(line => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(
    lines.map(line => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

test("/metrics counts refusals by cause, errors by code, sets, hand edits and failed writes, and reports sockets, repositories and memory", async () => {
  const fileSystem = watchFileSystem();
  await using t = await startTestDaemon({ fileSystem });
  const repo = await t.addRepository("shop");
  // Adding a repository counts its first revision.
  const before = await numbers(t);
  await t.owner.call("config/watch", { repo });
  await t.owner.call("config/set", { repo, "svc.timeout": 5 });
  await t.owner.call("config/unset", { repo, fields: ["svc.timeout"] });
  await t.owner.call("config/set", { repo, "svc.nope": 5 });
  await t.writeRepository(repo, `{ "name": "shop", "config": { "svc": { "timeout": 7 } } }`);
  await until(() => t.owner.events.some(([, , payload]) => JSON.stringify(payload).includes(`"file"`)), "the edit");
  // A full disk can still be read: the edit may be about to be read once more.
  fileSystem.before = ({ operation, path }) => {
    if (operation === "write" && path.includes("/log/")) throw systemError("ENOSPC");
  };
  expect((await t.owner.call("config/set", { repo, "svc.timeout": 5 })).errors).toMatchObject([{ code: 1108 }]);
  fileSystem.before = () => {};
  await rawRequest(t.url, "/livez", { headers: ["Host: evil.example"] });
  await fetch(`${t.url}/livez`, { headers: { Origin: "http://evil.example" } });
  await fetch(`${t.url}/socket.io/?EIO=4&transport=polling&j=0`);
  await expect(t.connect("wrong")).rejects.toThrow();
  const after = await numbers(t);
  expect(after).toMatchObject({
    [`repoconf_refusals_total{cause="host"}`]: 1,
    [`repoconf_refusals_total{cause="origin"}`]: 2,
    [`repoconf_refusals_total{cause="key"}`]: 1,
    [`repoconf_refusals_total{cause="limit"}`]: 0,
    [`repoconf_errors_total{code="1007"}`]: 1,
    repoconf_sets_total: (before["repoconf_sets_total"] ?? 0) + 2,
    repoconf_hand_edits_total: (before["repoconf_hand_edits_total"] ?? 0) + 1,
    repoconf_merges_total: 0,
    repoconf_yields_total: expect.any(Number),
    repoconf_write_failures_total: 1,
    repoconf_sockets: 1,
    repoconf_repositories: 1,
    [`repoconf_info{version="0.0.0-test"}`]: 1,
  });
  expect(after["process_resident_memory_bytes"]).toBeGreaterThan(10_000_000);
  expect(after["nodejs_heap_size_used_bytes"]).toBeGreaterThan(1_000_000);
  // The status that the command line shows has the same counts.
  expect((await t.owner.call("daemon/status")).result.refusals).toEqual({ host: 1, origin: 2, key: 1 });
});

test("each revision is counted by its source", async () => {
  const metrics = new Metrics({
    version: "1",
    startedAt: new Date(0),
    connections: { count: 0 },
    store: { repositories: { ids: () => [] } },
    refusals: { counts: new Map() },
    yielding: { yields: 0 },
    problems: { all: [] },
  });
  for (const source of ["set", "unset", "restore", "file", "merge"] as const) metrics.countChange(source);
  const samples = read((await metrics.render()).text);
  expect(samples).toMatchObject({ repoconf_sets_total: 3, repoconf_hand_edits_total: 1, repoconf_merges_total: 1 });
});

test("/metrics is only for the owner's key, by GET and HEAD; any other gets 401, is counted, and learns nothing", async () => {
  await using t = await startTestDaemon();
  const session = (await t.owner.call("session/create", { label: "desktop" })).result;
  const everything = [{ repos: "*" as const, fields: ["*"], right: "write" as const }];
  const tool = (await t.owner.call("key/create", { name: "tool", grants: everything })).result;
  const answer = await ask(t, bearer(t.ownerKey));
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toMatch(/^text\/plain; version=/);
  expect(answer.headers.get("cache-control")).toBe("no-store");
  const refused: Record<string, string>[] = [
    {},
    bearer("wrong"),
    bearer(tool.key),
    bearer(session.secret),
    bearer(`${session.id}.${session.secret}`),
    { Authorization: t.ownerKey },
    { Authorization: `Basic ${t.ownerKey}` },
    { Cookie: `apiKey=${t.ownerKey}` },
  ];
  for (const headers of refused) {
    const { status, headers: responseHeaders } = await ask(t, headers);
    expect([status, responseHeaders.get("www-authenticate")]).toEqual([401, "Bearer"]);
  }
  expect((await fetch(`${t.url}/metrics?key=${t.ownerKey}`)).status).toBe(401);
  for (const [method, status] of [
    ["HEAD", 200],
    ["POST", 405],
  ] as const)
    expect((await fetch(`${t.url}/metrics`, { method, headers: bearer(t.ownerKey) })).status).toBe(status);
  expect((await t.owner.call("daemon/status")).result.refusals).toEqual({ key: refused.length + 1 });
  expect(t.log.join("")).not.toContain(tool.key);
});
