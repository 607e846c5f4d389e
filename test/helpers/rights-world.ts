import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import type { Grant, Grants } from "../../shared/grants.ts";
import type { JsonValue } from "../../shared/json.ts";
import { startTestDaemon, type TestClient } from "./daemon.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Repositories whose values change. The file of `sick` has problems; the file of `broken` was broken from the start. */
export const changing = ["alpha", "beta", "gamma"] as const;
export const repositories = [...changing, "sick", "broken"];
/** Each accepts any short text, so that each value can name where it comes from. */
export const texts = [
  "svc.domain",
  "svc.provider",
  "svc.proxy_domain",
  "svc.proxy_url",
  "svc.application_path",
  "team.lead",
  "team.lead_phone",
  "team.channel",
] as const;
/** The text fields, and two fields that a rule of the schema connects. */
export const fields = [...texts, "team.desk", "team.desks"] as const;

const patterns = [...fields, ..."* svc.* team.* svc.pro* svc.proxy_* team.lead* team.desk* nope.* svc.nope".split(" ")];
const anyGrant: fc.Arbitrary<Grant> = fc.record(
  {
    repos: fc.oneof(fc.constant("*" as const), fc.subarray([...repositories, "nowhere"])),
    fields: fc.subarray(patterns, { minLength: 1, maxLength: 3 }),
    right: fc.constantFrom("read" as const, "write" as const),
  },
  { noNullPrototype: true },
);
const anyField = fc.oneof(fc.constantFrom(...texts), fc.constantFrom("team.desk", "team.desks"));
/** Keys that may write one field here and another there, which random grants contain too rarely. */
const divided: fc.Arbitrary<Grants> = fc.tuple(anyField, anyField).map(([one, other]) => [
  { repos: ["alpha"], fields: [one], right: "write" },
  { repos: ["beta", "gamma"], fields: [other], right: "write" },
]);
export const anyGrants: fc.Arbitrary<Grants> = fc.oneof(
  { weight: 3, arbitrary: fc.array(anyGrant, { maxLength: 3 }) },
  { weight: 1, arbitrary: divided },
);

const text = { type: "string", default: "" };
const team = {
  type: "object",
  properties: {
    lead: text,
    lead_phone: text,
    channel: text,
    desks: { type: "object", default: {} },
    desk: { ...text, "x-keyOf": "desks" },
  },
};

/** Text from the broken file that appears in its error. */
export const brokenWords = "secret-words";
const brokenText = `{ "config": { "team": { "lead": 1, "${brokenWords}": 2, "${brokenWords}": 3 } } }`;
/** The name of a key that makes changes; only the owner may learn it. */
export const rivalName = "secret name";

/** A text that names its place; a key that may not read that place must never see it. */
export function mark(repo: string, field: string, round: number): string {
  return `mark-${repo}-${field}-${round}-end`;
}

/** The marks in a text, each of which only a key that may read its place may see. */
export function* marksIn(text: string): Generator<readonly [repo: string, field: string]> {
  for (const [, repo = "", field = ""] of text.matchAll(/mark-([a-z]+)-([a-z_.]+)-\d+-end/g)) yield [repo, field];
}

export function markedValue(repo: string, field: string, round: number): JsonValue {
  const marked = mark(repo, field, round);
  if (field === "team.desk") return "left";
  return field === "team.desks" ? { left: marked, right: marked } : marked;
}

/** A file with one invalid value, an unknown field and an unknown scope; all other values are valid. */
function sickText(round: number): string {
  const config: { [scope: string]: { [field: string]: JsonValue } } = { svc: { nope: 1 }, team: {}, nope: { at: 1 } };
  for (const [index, path] of texts.entries()) {
    const [scope = "", field = ""] = path.split(".");
    Object.assign(config[scope] ?? {}, { [field]: index === round % texts.length ? 7 : mark("sick", path, round) });
  }
  return JSON.stringify({ config });
}

/** The folders of the repositories whose values change, each in the one before. */
export function foldersIn(folder: string): readonly string[] {
  return changing.map((_, at) => join(folder, ...changing.slice(0, at + 1)));
}

export type RightsWorld = Awaited<ReturnType<typeof startRightsWorld>>;

/** A daemon with changes in each round, so that there is something to withhold from keys. */
export async function startRightsWorld() {
  const repos = { "repos/sick.json": sickText(0), "repos/broken.json": brokenText };
  const t = await startTestDaemon({ files: { "scopes/team.schema.json": team, ...repos } });
  const { owner } = t;
  const above = await temporaryFolder();
  for (const [at, path] of foldersIn(above.path).entries()) {
    await mkdir(path);
    await t.owner.call("repo/add", { id: changing[at], name: "a repository", path, inTree: false });
  }
  const rival = await t.connectWith([{ repos: "*", fields: ["*"], right: "write" }], rivalName);
  await owner.call("config/watch");
  const scopes = (await owner.call("scope/list")).result;
  return {
    t,
    folder: above.path,
    /** All fields. */
    paths: scopes.flatMap(({ scope, schema }) => Object.keys(schema.properties).map(field => `${scope}.${field}`)),
    /** In each repository: erases a field's past, sets all fields together, and one on its own. The owner watches. */
    happen: (round: number) => happen(owner, rival, round),
    [Symbol.asyncDispose]: async () => {
      await t[Symbol.asyncDispose]();
      await above[Symbol.asyncDispose]();
    },
  };
}

async function happen(owner: TestClient, rival: TestClient, round: number): Promise<void> {
  const must = async ({ errors }: { readonly errors: readonly unknown[] }) => {
    if (errors.length > 0) throw new Error(JSON.stringify(errors));
  };
  const field = texts[round % texts.length] ?? texts[0];
  for (const repo of changing) {
    await must(await owner.call("history/forget", { repo, field }));
    const values = Object.fromEntries(fields.map(path => [path, markedValue(repo, path, round)]));
    await must(await owner.call("config/set", { repo, ...values, batch: `round ${round}` }));
    const alone = mark(repo, field, round);
    await must(await rival.call("config/set", { repo, [field]: `${alone} again`, reason: `because of ${alone}` }));
  }
  const { result } = await owner.call("file/read", { repo: "sick" });
  await must(await owner.call("file/write", { repo: "sick", text: sickText(round), expected: result.text }));
}
