import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Grant, Grants } from "../../shared/grants.ts";
import type { JsonValue } from "../../shared/json.ts";
import { startTestDaemon, type TestClient, type TestDaemon, until } from "../helpers/daemon.ts";
import { amount, reportPromise, seed } from "../helpers/promise.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const repositories = ["alpha", "beta", "gamma"] as const;
/** Each takes any short text, so that each value can tell where it comes from. */
const fields = [
  "svc.domain",
  "svc.provider",
  "svc.proxy_domain",
  "svc.proxy_url",
  "svc.application_path",
  "team.lead",
  "team.lead_phone",
  "team.channel",
] as const;
type Field = (typeof fields)[number];

const patterns = [
  ...fields,
  "*",
  "svc.*",
  "team.*",
  "svc.pro*",
  "svc.proxy_*",
  "team.lead*",
  "t*",
  "nope.*",
  "svc.nope",
];
const anyGrant: fc.Arbitrary<Grant> = fc.record({
  repos: fc.oneof(fc.constant("*" as const), fc.subarray([...repositories, "nowhere"])),
  fields: fc.subarray(patterns, { minLength: 1, maxLength: 3 }),
  right: fc.constantFrom("read" as const, "write" as const),
});
const anyGrants: fc.Arbitrary<Grants> = fc.array(anyGrant, { maxLength: 3 });

/** The model, written a second time from protocol page 8: rights add up, write includes read, a star stands at the end. */
function may(grants: Grants, right: "read" | "write", repo: string, field: string): boolean {
  for (const { repos, fields: given, right: allowed } of grants) {
    if (right === "write" && allowed === "read") continue;
    if (typeof repos !== "string" && repos.indexOf(repo) < 0) continue;
    for (const pattern of given) {
      const [start = "", ...rest] = pattern.split("*");
      if (rest.length > 0 ? field.indexOf(start) === 0 : field === pattern) return true;
    }
  }
  return false;
}

const team = {
  title: "Team",
  type: "object",
  properties: {
    lead: { title: "Lead", type: "string", default: "" },
    lead_phone: { title: "Phone", type: "string", default: "" },
    channel: { title: "Channel", type: "string", default: "" },
  },
};

/** A text that tells its place; whoever may not read there must never see it. */
function mark(repo: string, field: Field, round: number): string {
  return `mark-${repo}-${field}-${round}-end`;
}

/** Everything that a client of the key can get hold of, and what of it breaks the model, a line each. */
async function findLeaks(t: TestDaemon, grants: Grants, round: number): Promise<string[]> {
  const leaks: string[] = [];
  const { key, id } = (await t.owner.call("key/create", { name: `tool ${round}`, grants })).result;
  const tool = await t.connect(key);
  const seen: unknown[] = [];
  const ask: TestClient["call"] = async (name, args) => {
    const reply = await tool.call(name, args);
    seen.push(reply);
    return reply;
  };
  const same = (what: string, given: unknown, wanted: unknown) => {
    const [one, other] = [JSON.stringify(given), JSON.stringify(wanted)];
    if (one !== other) leaks.push(`${what}: ${one}, and the model says ${other}`);
  };
  const readable = (repo: string) => fields.filter(field => may(grants, "read", repo, field));
  const anyReadable = (repo: string) => readable(repo).length > 0 || readsAnother(grants, repo);

  await ask("config/watch", {});
  for (const repo of repositories) {
    const values = Object.fromEntries(fields.map(field => [field, mark(repo, field, round)]));
    // All at once, then one that stands alone, so that there are events of which nothing shows.
    await t.owner.call("config/set", { repo, ...values });
    const [lonely = "svc.domain"] = fields.slice(round % fields.length);
    await t.owner.call("config/set", { repo, [lonely]: `${mark(repo, lonely, round)} again` });
  }
  for (const repo of repositories) {
    const { result } = await ask("config/list", { repo, stored: true });
    same(`${repo} lists`, namesIn(result), [...readable(repo)].sort());
    for (const field of fields) {
      const mine = may(grants, "read", repo, field);
      const { result: one, errors } = await ask("config/list", { repo, field });
      if (mine === errors.length > 0) leaks.push(`${repo} ${field}: ${JSON.stringify(errors)}`);
      if (!mine) {
        same(`${repo} ${field} is listed`, one, {});
        // A field that it may not read is answered as one that is not there.
        const [scope = ""] = field.split(".");
        const ghost = `${scope}.ghost`;
        const hidden = JSON.stringify(errors).replaceAll(field, "FIELD");
        const absent = JSON.stringify((await ask("config/list", { repo, field: ghost })).errors);
        same(`${repo} ${field} differs from a ghost`, hidden, absent.replaceAll(ghost, "FIELD"));
        for (const operation of ["config/explain", "history/list"] as const) {
          const refused = await ask(operation, { repo, field });
          if (refused.errors.length === 0) leaks.push(`${operation} of ${repo} ${field}`);
        }
      }
      // Nothing is written by a dry run; its errors are those of a real set.
      const dry = await ask("config/set", { repo, [field]: "x", dryRun: true });
      if (may(grants, "write", repo, field) !== (dry.errors.length === 0))
        leaks.push(`a set of ${repo} ${field} gets ${JSON.stringify(dry.errors)}`);
    }
    const history = await ask("history/list", { repo, limit: 30 });
    if (anyReadable(repo) !== (history.errors.length === 0)) leaks.push(`history of ${repo}: ${history.errors.length}`);
    for (const { changes } of history.errors.length === 0 ? history.result : [])
      for (const name of namesIn(changes))
        if (!may(grants, "read", repo, name)) leaks.push(`history of ${repo} ${name}`);
    if (!anyReadable(repo)) {
      const list = JSON.stringify((await ask("config/list", { repo })).errors).replaceAll(repo, "REPO");
      const nowhere = JSON.stringify((await ask("config/list", { repo: "nowhere2" })).errors);
      same(`${repo} differs from one that is not there`, list, nowhere.replaceAll("nowhere2", "REPO"));
    }
  }
  const entries = await ask("repo/list");
  same(
    "repositories",
    entries.result.map(entry => entry.id),
    repositories.filter(repo => anyReadable(repo)),
  );
  for (const { id: repo, modified } of entries.result) same(`count of ${repo}`, modified, readable(repo).length);
  for (const query of ["mark", "again", "@modified", "lead", "domain", "alpha"]) {
    for (const hit of (await ask("config/search", { query, limit: 1_000 })).result) {
      if (hit.field === undefined) continue;
      const path = hit.field.includes(".") ? hit.field : `${hit.scope}.${hit.field}`;
      if (!may(grants, "read", hit.repo, path)) leaks.push(`search "${query}" finds ${hit.repo} ${path}`);
    }
  }
  await ask("scope/list");
  for (const operation of ["key/list", "session/link", "daemon/status"] as const) await ask(operation);
  await ask("repo/remove", { repo: "alpha" });
  await ask("file/read", { repo: "alpha" });
  // Events come in order: this reply is behind all of them.
  await ask("key/self");
  seen.push(...tool.events);
  for (const event of tool.events) {
    if (event[0] !== "config") continue;
    const { repo, changes } = event[2];
    const names = namesIn(changes);
    if (names.length === 0) leaks.push(`an empty event of ${repo}`);
    for (const name of names) if (!may(grants, "read", repo, name)) leaks.push(`event of ${repo} ${name}`);
  }
  // Whatever came by whatever way: no text of a place that the key may not read.
  const all = JSON.stringify(seen);
  for (const [, repo = "", field = ""] of all.matchAll(/mark-([a-z]+)-([a-z_.]+)-\d+-end/g))
    if (!may(grants, "read", repo, field)) leaks.push(`a value of ${repo} ${field} somewhere`);
  for (const text of [t.homeFolder, t.ownerKey, "secret reason"])
    if (all.includes(text)) leaks.push(`${text === t.ownerKey ? "the owner's key" : text} somewhere`);
  // Nothing that it may read is kept from it either, or the test would be content with silence.
  for (const repo of repositories)
    for (const field of readable(repo))
      if (!all.includes(mark(repo, field, round))) leaks.push(`${repo} ${field} does not show`);
  tool.socket.close();
  await t.owner.call("key/revoke", { id });
  return leaks;
}

const svcOthers = ["svc.timeout", "svc.default", "svc.services", "svc.proxy_http", "svc.proxy_aliases"];

/** Whether a field beside those of the test shows the repository to the key. */
function readsAnother(grants: Grants, repo: string): boolean {
  return svcOthers.some(field => may(grants, "read", repo, field));
}

function namesIn(config: { readonly [scope: string]: { readonly [field: string]: unknown } }): string[] {
  return Object.entries(config)
    .flatMap(([scope, values]) => Object.keys(values).map(field => `${scope}.${field}`))
    .sort();
}

test("S6 rights deny by default and leak nothing: random grants against a model", async () => {
  await using home = await temporaryFolder();
  await mkdir(join(home.path, "scopes"));
  await writeFile(join(home.path, "scopes/team.schema.json"), JSON.stringify(team));
  await using t = await startTestDaemon({ home: home.path });
  await until(async () => (await t.owner.call("scope/list")).result.length === 2, "the scope");
  for (const repo of repositories) await t.addRepository(repo);
  let round = 0;
  const found: JsonValue[] = [];
  await fc
    .assert(
      fc.asyncProperty(anyGrants, async grants => {
        const leaks = await findLeaks(t, grants, ++round);
        expect(leaks).toEqual([]);
      }),
      { seed, numRuns: amount(15, 800) },
    )
    .catch(error => {
      found.push(String(error));
      throw error;
    })
    .finally(() =>
      reportPromise({ row: "S6", tried: round, failed: found.length, note: "random keys, every way to read" }),
    );
});
