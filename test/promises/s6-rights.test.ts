import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Config, configEntries } from "../../shared/config.ts";
import { type Grants, keyRights, type Right } from "../../shared/grants.ts";
import type {
  EventMessage,
  FoundHistoryEntry,
  HistoryEntry,
  OperationName,
  RepositoryEntry,
  SearchHit,
} from "../../shared/protocol.ts";
import { type TestClient, until } from "../helpers/daemon.ts";
import { post, socketOf } from "../helpers/one-shot.ts";
import { amount, reportPromise, seed } from "../helpers/promise.ts";
import { checkRights, masked, placesOf, type RightsCheck, refusals } from "../helpers/rights-check.ts";
import {
  configSeen,
  entrySeen,
  explanationSeen,
  mayReadAll,
  maySomewhere,
  repositorySeen,
} from "../helpers/rights-model.ts";
import {
  anyGrants,
  brokenWords,
  changing,
  fields,
  foldersIn,
  mark,
  markedValue,
  marksIn,
  type RightsWorld,
  repositories,
  rivalName,
  startRightsWorld,
  texts,
} from "../helpers/rights-world.ts";

/** The values of a repository, now and at a revision, and its history from that revision on. */
async function compareRepository(check: RightsCheck, repo: string, revision: number): Promise<void> {
  if (!check.mayAny("read", repo)) return;
  for (const more of [{}, { stored: true }, { revision }, { revision, stored: true }])
    await check.compare("config/list", { repo, ...more }, config => configSeen(check.grants, repo, config));
  await compareHistory(check, { repo }, revision);
}

async function compareHistory(
  check: RightsCheck,
  args: { readonly repo: string; readonly field?: string },
  revision: number,
): Promise<void> {
  // What was erased just before belongs to the previous revision.
  const recent = (entries: readonly HistoryEntry[]) => entries.filter(entry => entry.revision >= revision - 1);
  await check.compare("history/list", { ...args, limit: 30 }, list => check.entriesSeen(args.repo, list), recent);
}

async function compareField(check: RightsCheck, repo: string, field: string, revision: number): Promise<void> {
  if (check.may("read", repo, field)) {
    await check.compare("config/list", { repo, field }, config => config);
    await check.compare("config/explain", { repo, field }, one => explanationSeen(check.name, one));
    await compareHistory(check, { repo, field }, revision);
  } else {
    // A field that it may not read gets the same answer as a missing one.
    const ghost = `${field.split(".")[0]}.ghost`;
    for (const name of ["config/list", "config/explain", "history/list"] as const) {
      const [hidden, absent] = [await check.ask(name, { repo, field }), await check.ask(name, { repo, field: ghost })];
      if (hidden.errors.length === 0) check.wrong.push(`${name} of ${repo} ${field}`);
      check.same(`${name} of ${repo} ${field}`, masked(hidden, field), masked(absent, ghost));
    }
  }
  const writes: readonly (readonly ["config/set" | "config/unset" | "history/restore", object])[] = [
    ["config/set", { [field]: markedValue(repo, field, check.round) }],
    ["config/unset", { fields: [field] }],
    ["history/restore", { fields: [field], to: revision }],
  ];
  for (const [name, args] of writes) {
    const places = placesOf((await check.ask(name, { repo, ...args, dryRun: true })).errors);
    const isRefused = places.some(place => place.startsWith("1007"));
    if (!check.may("write", repo, field))
      check.same(`${name} of ${repo} ${field}`, places, refusals(check, [repo], field));
    else if (isRefused) check.wrong.push(`${name} of ${repo} ${field} is refused`);
  }
}

/** Sets a field in all repositories at once, if possible one that the key may write in some of them but not in all. */
async function compareSet(check: RightsCheck): Promise<void> {
  const known = changing.filter(repo => check.mayAny("write", repo));
  const isMixed = (field: string) => new Set(known.map(repo => check.may("write", repo, field))).size > 1;
  const field = texts.find(isMixed) ?? "svc.domain";
  const { result, errors } = await check.ask("config/set", { repo: changing, [field]: "by the tool" });
  const mine = changing.filter(repo => check.may("write", repo, field));
  check.same("what it may not set", placesOf(errors), refusals(check, changing, field));
  check.same("what it set", Object.keys(Object.groupBy(result, ({ repo }) => repo)), mine);
  for (const repo of changing) {
    const list = JSON.stringify(await check.owner.call("config/list", { repo, field }));
    check.same(`${field} of ${repo} is the tool's`, list.includes("by the tool"), mine.includes(repo));
  }
}

/** The name of a broken rule's field is only shown to a key that may read both sides of the rule. */
async function compareRule(check: RightsCheck, repo: string, field: string, other: string, value: unknown) {
  if (!check.may("write", repo, field)) return;
  const [error] = (await check.ask("config/set", { repo, [field]: value, dryRun: true })).errors;
  const names = new RegExp(`${other}\\b`).test(error?.message ?? "");
  check.same(`${field} of ${repo}: ${error?.message}`, [error?.code, names], [1103, check.may("read", repo, other)]);
}

/** Text from a broken file is only shown to keys that may read everything that could be in it. */
async function compareBroken(check: RightsCheck): Promise<void> {
  for (const right of ["read", "write"] as const) {
    const field = check.world.paths.find(path => check.may(right, "broken", path));
    if (field === undefined) continue;
    const args = { repo: "broken", ...(right === "write" && { [field]: null }) };
    const [error] = (await check.ask(right === "write" ? "config/set" : "config/list", args)).errors;
    const hasBrokenWords = error?.message.includes(brokenWords);
    check.same(`broken: ${error?.message}`, [error?.code, hasBrokenWords], [1106, mayReadAll(check.grants, "broken")]);
  }
}

/** More revisions than one round makes: older ones were compared in their own round, and their number grows with each. */
const mostOfRound = 300;

/** Compares the histories of all repositories since these revisions. */
async function compareHistories(check: RightsCheck, since: ReadonlyMap<string, number>): Promise<void> {
  const recent = (entries: readonly FoundHistoryEntry[]) =>
    entries
      .filter(({ repo, revision }) => revision >= (since.get(repo) ?? 0))
      .map(entry => ({ ...entry, position: String(typeof entry.position) }));
  for (const query of ["", "mark", "field:team.lead", "field:svc.*=mark*", "-lead", "by:owner", "repo:alpha since:1h"])
    await check.compare(
      "history/search",
      { query, limit: mostOfRound },
      // A key without any right to a repository does not see its first entry either.
      list =>
        list
          .filter(({ repo }) => check.visible.includes(repo))
          .flatMap(entry => entrySeen(check.grants, check.name, entry.repo, entry) ?? []),
      recent,
    );
  await check.compare("history/search", { query: `by:"${rivalName}"`, limit: mostOfRound }, () => []);
  // Also the first entries of repositories, which change nothing.
  const { result } = await check.ask("history/search", { query: "", limit: mostOfRound });
  const all = await check.owner.call("history/search", { query: "", limit: mostOfRound });
  expect(recent(all.result).length).toBeLessThan(mostOfRound);
  for (const { repo } of result) if (!check.visible.includes(repo)) check.wrong.push(`the history of ${repo}`);
}

/** Compares a query's matrix and its cells with counts from the lists that the key may see. */
async function compareMatrix(check: RightsCheck): Promise<void> {
  const values = new Map<string, unknown[]>();
  for (const repo of check.visible) {
    const { result } = await check.owner.call("config/list", { repo });
    for (const { scope, field, value } of configEntries(configSeen(check.grants, repo, result)))
      values.set(`${scope}.${field}`, [...(values.get(`${scope}.${field}`) ?? []), value]);
  }
  const { result } = await check.ask("config/matrix", { query: "" });
  check.same(
    "the matrix",
    [result.repositories, result.total],
    [[...check.visible].sort(), { repositories: check.visible.length, fields: values.size }],
  );
  for (const { field, of, count, value } of result.fields ?? []) {
    const all = values.get(field) ?? [];
    const counts = all.map(one => all.filter(other => isDeepStrictEqual(one, other)).length);
    const isMasked = field === "svc.envvars";
    check.same(`the matrix of ${field}`, [of, count], [all.length, isMasked ? undefined : Math.max(...counts)]);
    if (value !== undefined)
      check.same(`most of ${field}`, all.filter(one => isDeepStrictEqual(one, value)).length, count);
  }
  check.same(
    "the fields of the matrix",
    result.fields?.map(({ field }) => field),
    check.world.paths.filter(path => values.has(path)),
  );
  const args = { repo: changing.filter(repo => check.mayAny("read", repo)), fields: check.world.paths };
  const isSeen = (repo: string) => (path: string) => check.may("read", repo, path);
  if (args.repo.length > 0)
    await check.compare("config/cells", args, rows =>
      rows.map(({ repo, config, stored, ...row }) => ({
        ...row,
        repo,
        config: configSeen(check.grants, repo, config),
        stored: stored.filter(isSeen(repo)),
      })),
    );
  const hidden = repositories.filter(repo => !check.mayAny("read", repo));
  if (hidden.length > 0) {
    const reply = await check.ask("config/cells", { ...args, repo: hidden });
    check.same(
      "hidden cells",
      [reply.result, placesOf(reply.errors)],
      [[], hidden.map(repo => `1102 ${repo} undefined`).sort()],
    );
  }
}

/** A folder belongs to the nearest repository that the key may see, and tells nothing of those that it may not. */
async function compareFolders(check: RightsCheck): Promise<void> {
  const folderOf = (repo: string | undefined) => foldersIn(check.world.folder)[changing.indexOf(repo as "alpha")];
  for (const [at, inner] of changing.entries()) {
    const nearest = changing.slice(0, at + 1).findLast(repo => check.visible.includes(repo));
    for (const path of [folderOf(inner), `${folderOf(inner)}/no/such`]) {
      const found = await check.ask("repo/find", { path });
      const list = await check.ask("config/list", { path });
      if (nearest === undefined) {
        const absent = await check.ask("repo/find", { path: "/nowhere2" });
        check.same(`${path}`, masked(found, String(path)), masked(absent, "/nowhere2"));
        check.same(`${path}`, list.errors, found.errors);
      } else check.same(`${path}`, [found.result?.id, list.repo], [nearest, nearest]);
    }
  }
}

const ownersAlone: readonly (readonly [name: OperationName, args: { readonly [name: string]: unknown }])[] = [
  ["config/hook", { path: "/", shell: "bash" }],
  ["repo/add", { name: "planted" }],
  ["repo/scan", { path: "/" }],
  ["repo/look", { path: "/" }],
  ["trust/preview", { scope: "planted", text: `{ "type": "object", "properties": {} }` }],
  ["proposal/accept", { id: "000000", hash: "0" }],
  ["draft/list", {}],
  ["draft/set", {}],
  ["draft/set", { drafts: [{ repo: "alpha", field: "svc.timeout", value: 66 }] }],
  ["session/create", { label: "desktop" }],
  ["session/link", {}],
  ["session/link", { byAddress: true }],
  ["file/read", { repo: "alpha" }],
  ["file/write", { repo: "alpha", text: "{}", expected: null }],
  ["file/restore", { repo: "alpha" }],
  ["key/list", {}],
  ["key/create", { name: "planted", grants: [] }],
  ["key/revoke", { id: "0123456789ab" }],
  ["daemon/dismiss", { id: "000000" }],
  ["daemon/stop", {}],
];

const queries = [
  "mark",
  "again",
  "@modified",
  "lead",
  "domain",
  "alpha",
  "field:team.lead",
  "field:lead -field:team.lead_phone",
  "field:svc.*=mark*",
  "-modified field:team.*",
  "modified -mark",
  "by:owner",
  "by:file",
  "since:1h -by:owner repo:*a",
  "alpha since:1h",
];

/** Compares the answers about all repositories at once, or about none. */
async function compareLists(check: RightsCheck, seenOf: (entry: RepositoryEntry) => readonly RepositoryEntry[]) {
  for (const args of [{}, ...repositories.map(repo => ({ repo }))])
    await check.compare("repo/list", args, list => list.flatMap(seenOf));
  const hitsSeen = (hits: readonly SearchHit[]) =>
    hits.filter(({ repo, scope, field }) =>
      field === undefined ? check.visible.includes(repo) : check.may("read", repo, `${scope}.${field}`),
    );
  for (const query of queries) await check.compare("config/search", { query, limit: 1_000 }, hitsSeen);
  // Names of others are hidden, so searching for them, or for their negation, finds nothing.
  await check.compare("config/search", { query: `by:"${rivalName}"`, limit: 1_000 }, () => []);
  await compareMatrix(check);
  const entries = (await check.owner.call("repo/list")).result.flatMap(seenOf);
  const withProblems = entries.flatMap(({ id, health }) => (health.length > 0 ? { repo: id } : []));
  await check.compare("config/search", { query: "@broken" }, () => withProblems);
  const shown = (await check.ask("scope/list")).result.flatMap(({ scope, schema }) =>
    Object.keys(schema.properties).map(field => `${scope}.${field}`),
  );
  check.same(
    "fields",
    shown,
    check.world.paths.filter(field => maySomewhere(check.grants, field)),
  );
  for (const [name, args] of ownersAlone)
    check.same(
      name,
      (await check.ask(name, args)).errors.map(({ code }) => code),
      [1105],
    );
  const status = (await check.ask("daemon/status")).result;
  check.same("status", Object.keys(status).sort(), ["protocol", "startedAt", "version"]);
}

/** A repository that it cannot see at all gets the same answers as a missing one, and so does every owner's operation. */
async function compareHidden(check: RightsCheck, repo: string): Promise<void> {
  const asked: readonly (readonly [name: OperationName, right: Right | "owner", args: object])[] = [
    ["config/list", "read", {}],
    ["config/explain", "read", { field: "svc.domain" }],
    ["config/watch", "read", { since: 1 }],
    ["history/list", "read", {}],
    ["config/set", "write", { "svc.domain": "x" }],
    ["config/unset", "write", { fields: ["svc.domain"] }],
    ["history/restore", "write", { to: 1 }],
    ["repo/update", "owner", { name: "planted" }],
    ["repo/remove", "owner", {}],
    ["file/read", "owner", {}],
    ["file/write", "owner", { text: "{}", expected: null }],
    ["file/restore", "owner", {}],
    ["history/forget", "owner", { field: "svc.domain" }],
  ];
  for (const [name, right, args] of asked) {
    if (right !== "owner" && check.mayAny(right, repo)) continue;
    const [hidden, absent] = [
      await check.ask(name, { ...args, repo }),
      await check.ask(name, { ...args, repo: "nowhere2" }),
    ];
    if (hidden.errors.length === 0) check.wrong.push(`${name} of ${repo}`);
    check.same(`${name} of ${repo}`, masked(hidden, repo), masked(absent, "nowhere2"));
  }
}

/** Tries everything that a client of the key can reach; returns a line for each deviation from the model. */
async function findLeaks(world: RightsWorld, grants: Grants, round: number): Promise<readonly string[]> {
  const { t } = world;
  const name = `tool ${round}`;
  const { key, id: keyId } = (await t.owner.call("key/create", { name, grants, rights: keyRights })).result;
  const [tool, late, ownerLate] = [await t.connect(key), await t.connect(key), await t.connect()];
  // Every other round without a connection, except for events.
  const path = await socketOf(t.homeFolder);
  const byPost: TestClient["call"] = async (operation, args) =>
    operation === "config/watch"
      ? tool.call(operation, args)
      : ((await post(path, key, operation, args)).reply as Awaited<ReturnType<typeof tool.call<typeof operation>>>);
  const check = checkRights(world, round % 2 === 0 ? { call: byPost } : tool, grants, name, round);
  const before = new Map((await t.owner.call("repo/list")).result.map(entry => [entry.id, entry]));
  const began = t.owner.events.length;
  const { result: watched } = await check.ask("config/watch", {});
  check.same("watched", Object.keys(watched.revisions).sort(), [...check.visible].sort());
  await world.happen(round);
  await compareSet(check);
  // The same again, this time from the journal.
  const since = Object.fromEntries(changing.map(repo => [repo, before.get(repo)?.revision ?? 0]));
  for (const client of [late, ownerLate]) await client.call("config/watch", { since });

  const stored = new Map<string, Config>();
  for (const repo of repositories) stored.set(repo, (await t.owner.call("config/list", { repo, stored: true })).result);
  const entrySeenOf = (entry: RepositoryEntry) =>
    check.visible.includes(entry.id) ? [repositorySeen(grants, entry, stored.get(entry.id) ?? {})] : [];
  for (const repo of changing) await compareRepository(check, repo, (since[repo] ?? 0) + 1);
  // Each field separately in one repository; the others have their turn in other rounds.
  const turn = changing[round % changing.length] ?? "alpha";
  for (const field of fields) await compareField(check, turn, field, (since[turn] ?? 0) + 1);
  for (const repo of changing) {
    await compareRule(check, repo, "team.desk", "team.desks", "nowhere");
    await compareRule(check, repo, "team.desks", "team.desk", {});
  }
  if (check.mayAny("read", "sick"))
    await check.compare("config/list", { repo: "sick" }, config => configSeen(grants, "sick", config));
  await compareBroken(check);
  await compareFolders(check);
  await compareLists(check, entrySeenOf);
  await compareHistories(check, new Map([...before.values()].map(({ id, revision }) => [id, revision])));
  await compareHidden(check, repositories[round % repositories.length] ?? "alpha");
  const metrics = await fetch(`${t.url}/metrics`, { headers: { Authorization: `Bearer ${key}` } });
  check.same("metrics", metrics.status, 401);
  // Events arrive in order, so all of them precede this reply.
  check.same("itself", (await check.ask("key/self")).result, { id: keyId, name, grants, rights: keyRights });

  const eventSeen = (event: EventMessage): readonly EventMessage[] => {
    const [resource, kind, payload] = event;
    if (resource === "config") {
      const change = entrySeen(grants, name, payload.repo, payload);
      return change === undefined ? [] : [["config", "changed", change]];
    }
    if (resource !== "repo" || kind !== "health") return [];
    const [now, then] = [payload, before.get(payload.id) ?? payload].map(entry => entrySeenOf(entry)[0]);
    return now === undefined || isDeepStrictEqual(now.health, then?.health) ? [] : [["repo", "health", now]];
  };
  // A position refers to the whole log, in an opaque text that is never the same.
  const unplaced = (events: readonly EventMessage[]) =>
    events.map(([resource, kind, payload]) => [resource, kind, { ...payload, position: undefined }]);
  const seenByAll = t.owner.events.slice(began).flatMap(eventSeen);
  check.same("events", unplaced(tool.events), unplaced(seenByAll));
  const present = (await t.owner.call("config/watch")).result.revisions;
  const missed = changing.reduce((sum, repo) => sum + (present[repo] ?? 0) - (since[repo] ?? 0), 0);
  await until(() => ownerLate.events.length >= missed, "what the owner missed");
  const missedSeen = ownerLate.events.flatMap(eventSeen);
  await until(() => late.events.length >= missedSeen.length, "what the tool missed");
  check.same("what it missed", unplaced(late.events), unplaced(missedSeen));

  // Whatever arrived in any way: no text from a place that the key may not read.
  const all = JSON.stringify([check.replies, tool.events, late.events]);
  for (const [repo, field] of marksIn(all))
    if (!check.may("read", repo, field)) check.wrong.push(`a value of ${repo} ${field} somewhere`);
  for (const text of [t.homeFolder, t.ownerKey, rivalName])
    if (all.includes(text)) check.wrong.push(`${text} somewhere`);
  if (all.includes(brokenWords) && !mayReadAll(grants, "broken")) check.wrong.push(`${brokenWords} somewhere`);
  // Everything that it may read must be visible too; otherwise a silent daemon would pass.
  for (const repo of changing)
    for (const field of texts)
      if (check.may("read", repo, field) && !all.includes(mark(repo, field, round)))
        check.wrong.push(`${repo} ${field} does not show`);
  for (const client of [tool, late, ownerLate]) client.socket.close();
  await t.owner.call("key/revoke", { id: keyId });
  return check.wrong;
}

test("S6 rights deny by default and leak nothing: random grants against a model, by every way to read and to write", async () => {
  await using world = await startRightsWorld();
  let round = 0;
  let failed = 0;
  await fc
    .assert(
      fc.asyncProperty(anyGrants, async grants => {
        expect(await findLeaks(world, grants, ++round)).toEqual([]);
      }),
      { seed, numRuns: amount(15, 800) },
    )
    .catch(error => {
      failed++;
      throw error;
    })
    .finally(() =>
      reportPromise({ row: "S6", tried: round, failed, note: "random keys, every way to read, over both doors" }),
    );
});
