import { symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { pollingHandshake, rawRequest, waysIn } from "../../helpers/raw-http.ts";

const listed = "http://localhost:5173";
const good = JSON.stringify({ origins: [listed] });

function settingsFile(t: TestDaemon): string {
  return join(t.homeFolder, "settings.json");
}

async function statusBy(t: TestDaemon, way: (typeof waysIn)[number], origin = listed): Promise<number> {
  const headers = [`Host: ${new URL(t.url).host}`, `Origin: ${origin}`, ...way.headers];
  return (await rawRequest(t.url, way.target, { headers })).status;
}

async function isAccepted(t: TestDaemon, origin = listed): Promise<boolean> {
  return (await statusBy(t, waysIn[0], origin)) === 200;
}

async function problems(t: TestDaemon): Promise<readonly string[]> {
  return (await t.owner.call("daemon/status")).result.problems ?? [];
}

describe("an origin in settings.json", () => {
  test("is accepted on every route once it is listed, and refused once it is no longer listed", async () => {
    await using t = await startTestDaemon();
    for (const way of waysIn) expect(await statusBy(t, way)).toBe(403);
    await writeFile(settingsFile(t), good);
    await until(() => isAccepted(t), "the listed origin to be accepted");
    for (const way of waysIn) expect(await statusBy(t, way)).toBe(way.granted);
    expect(await isAccepted(t, "http://localhost:5174")).toBe(false);
    await unlink(settingsFile(t));
    await until(async () => !(await isAccepted(t)), "the origin to be refused again");
    for (const way of waysIn) expect(await statusBy(t, way)).toBe(403);
  });

  test("may read polling responses", async () => {
    await using t = await startTestDaemon({ files: { "settings.json": good } });
    const headers = [`Host: ${new URL(t.url).host}`, `Origin: ${listed}`];
    const answer = await rawRequest(t.url, pollingHandshake, { headers });
    expect(answer.headers.get("access-control-allow-origin")).toBe(listed);
    expect(answer.headers.get("vary")).toMatch(/origin/i);
    const preflight = await rawRequest(t.url, pollingHandshake, {
      method: "OPTIONS",
      headers: [...headers, "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization"],
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe(listed);
    expect(preflight.headers.get("access-control-allow-headers")).toContain("authorization");
  });
});

describe("a broken settings.json", () => {
  const broken: { readonly [title: string]: string } = {
    "half a file": `{\n  "origins": ["http://loc`,
    "not an object": `["${listed}"]`,
    "an unknown member": `{ "origin": ["${listed}"] }`,
    "a wildcard origin": `{ "origins": ["*"] }`,
    "the origin null": `{ "origins": ["null"] }`,
    "a member __proto__": `{ "__proto__": { "origins": ["http://evil.example"] } }`,
  };
  test("keeps the last valid settings and is reported with its place until it is fixed, also by exactly the previous text", async () => {
    await using t = await startTestDaemon({ files: { "settings.json": good } });
    for (const [title, content] of Object.entries(broken)) {
      await writeFile(settingsFile(t), content);
      await until(async () => (await problems(t)).some(problem => problem.includes("settings.json")), title);
      if (title === "half a file") {
        await until(async () => (await problems(t)).some(one => one.includes("line 2, column")), "the place");
        const isTold = (line: string) =>
          /settings\.json.*line 2, column.*the last valid settings stay active/.test(line);
        expect(t.log.some(isTold)).toBe(true);
      }
      expect(await isAccepted(t), title).toBe(true);
      expect(await isAccepted(t, "http://evil.example"), title).toBe(false);
      await writeFile(settingsFile(t), good);
      await until(async () => (await problems(t)).length === 0, "the problem to go");
    }
  });

  test("is not followed if it is a link", async () => {
    await using t = await startTestDaemon();
    const target = join(t.homeFolder, "elsewhere.json");
    await writeFile(target, good);
    await symlink(target, settingsFile(t));
    await until(async () => (await problems(t)).length === 1, "a problem");
    expect(await isAccepted(t)).toBe(false);
  });
});
