import { afterAll, describe, expect, test } from "vitest";
import type { MatrixField } from "../../../shared/protocol.ts";
import { startTestDaemon, type TestClient, type TestDaemon } from "../../helpers/daemon.ts";
import { connect } from "../../helpers/patient-client.ts";

/** Four repositories: a, b and c with values, d without. */
async function startMatrix(): Promise<TestDaemon> {
  const t = await startTestDaemon({ repositories: ["c", "a", "d", "b"] });
  await t.owner.call("config/set", { repo: ["a", "b", "c"], "svc.timeout": 30, "svc.proxy_https": true });
  await t.owner.call("config/set", { repo: "c", "svc.timeout": 60, "svc.domain": "x".repeat(250) });
  await t.owner.call("config/set", { repo: "a", "svc.envvars": [{ name: "TOKEN", value: "hunter2" }] });
  return t;
}

const t = await startMatrix();
afterAll(() => t[Symbol.asyncDispose]());

async function matrix(client: TestClient, query: string) {
  const { result, errors, next } = await client.call("config/matrix", { query });
  expect([errors, next]).toEqual([[], undefined]);
  return result;
}

const fieldOf = (fields: readonly MatrixField[] | undefined, path: string) =>
  fields?.find(({ field }) => field === path);

describe("config/matrix", () => {
  test("lists repositories by id and fields in the order of the schema, with the most common value", async () => {
    const { repositories, total, fields } = await matrix(t.owner, "");
    expect(repositories).toEqual(["a", "b", "c", "d"]);
    expect(total).toEqual({ repositories: 4, fields: 20 });
    expect(fields?.map(({ field }) => field).slice(0, 3)).toEqual(["svc.timeout", "svc.default", "svc.application"]);
    expect(fieldOf(fields, "svc.timeout")).toEqual({ field: "svc.timeout", of: 4, count: 2, value: 30 });
    expect(fieldOf(fields, "svc.proxy_https")).toEqual({ field: "svc.proxy_https", of: 4, count: 3, value: true });
    expect(fieldOf(fields, "svc.domain")).toEqual({ field: "svc.domain", of: 4, count: 3, value: "" });
  });

  test("lists the fields and repositories with matches, and counts the values of these repositories", async () => {
    expect(await matrix(t.owner, "field:svc.proxy_https=off")).toEqual({
      repositories: ["d"],
      total: { repositories: 1, fields: 1 },
      fields: [{ field: "svc.proxy_https", of: 1, count: 1, value: false }],
    });
    const modified = await matrix(t.owner, "modified -field:svc.proxy_https");
    expect(modified.repositories).toEqual(["a", "b", "c"]);
    // A field that is stored in one of them counts the values of all of them.
    expect(modified.fields).toEqual([
      { field: "svc.timeout", of: 3, count: 2, value: 30 },
      { field: "svc.envvars", of: 3 },
      { field: "svc.domain", of: 3, count: 2, value: "" },
    ]);
    expect((await matrix(t.owner, "repo:a")).total).toEqual({ repositories: 1, fields: 20 });
    expect((await matrix(t.owner, "nowhere")).repositories).toEqual([]);
  });

  test("names a repository in place of a long value, and omits masked values", async () => {
    const { fields } = await matrix(t.owner, "repo:c");
    expect(fieldOf(fields, "svc.domain")).toEqual({ field: "svc.domain", of: 1, count: 1, like: "c" });
    expect(fieldOf(fields, "svc.envvars")).toEqual({ field: "svc.envvars", of: 1 });
    expect(JSON.stringify(await matrix(t.owner, ""))).not.toContain("hunter2");
  });

  test("continues after a repository with ids only", async () => {
    const { result } = await t.owner.call("config/matrix", { query: "field:svc.timeout=30", after: "a" });
    expect(result).toEqual({ repositories: ["b"] });
  });
});

describe("config/cells", () => {
  test("returns effective values and what is stored, but no masked value", async () => {
    const fields = ["svc.timeout", "svc.envvars", "svc.proxy_http", "svc.nope"];
    const { result, errors } = await t.owner.call("config/cells", { repo: ["c", "a", "d"], fields });
    expect(errors).toEqual([]);
    const config = (timeout: number) => ({ svc: { timeout, proxy_http: true } });
    expect(result).toEqual([
      { repo: "c", revision: 3, config: config(60), stored: ["svc.timeout"] },
      { repo: "a", revision: 3, config: config(30), stored: ["svc.timeout", "svc.envvars"] },
      { repo: "d", revision: 1, config: config(900), stored: [] },
    ]);
  });

  test("requires repositories and fields, within its limits", async () => {
    for (const [args, code] of [
      [{ repo: [] }, 1006],
      [{ fields: [] }, 1008],
      [{ fields: null }, 1008],
      [{ repo: Array.from({ length: 1_001 }, (_, at) => `r${at}`) }, 1107],
      [{ fields: Array.from({ length: 257 }, (_, at) => `svc.f${at}`) }, 1107],
    ] as const)
      expect(await t.owner.call("config/cells", { repo: "a", fields: ["svc.timeout"], ...args })).toMatchObject({
        errors: [{ code }],
      });
  });

  test("splits all rows into pages of up to a million bytes", async () => {
    await using own = await startTestDaemon();
    const repo = ["a", "b", "c", "d", "e", "f", "g"];
    for (const id of repo) {
      await own.addRepository(id);
      const services = { web: { ready: "x".repeat(200_000), image: id } };
      await own.owner.call("config/set", { repo: id, "svc.services": services });
    }
    const fields = ["svc.services"];
    const first = await own.owner.call("config/cells", { repo, fields });
    expect([first.result.map(row => row.repo), first.next]).toEqual([["a", "b", "c", "d", "e"], "e"]);
    const second = await own.owner.call("config/cells", { repo, fields, after: "e" });
    expect([second.result.map(row => row.repo), second.next]).toEqual([["f", "g"], undefined]);
    using client = await connect({ home: own.homeFolder });
    expect((await client.cells(repo, fields)).map(row => row.repo)).toEqual(repo);
    expect((await client.matrix("field:svc.services")).total).toEqual({ repositories: 7, fields: 1 });
  });
});
