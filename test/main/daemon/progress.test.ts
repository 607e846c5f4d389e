import { describe, expect, test } from "vitest";
import type { Grants } from "../../../shared/grants.ts";
import { collectWatch } from "../../helpers/collect-watch.ts";
import { noRescans, startTestDaemon, type TestClient, type TestDaemon, until } from "../../helpers/daemon.ts";
import { watchConnections } from "../../helpers/daemon-connections.ts";
import { connect } from "../../helpers/patient-client.ts";

const grants: Grants = [{ repos: ["shop"], fields: ["svc.domain"], right: "read" }];
/** A daemon that keeps few revisions, with the repositories "shop" and "other". */
function startWithWindow(revisions: number): Promise<TestDaemon> {
  const files = { "settings.json": { history: { revisions } } };
  return startTestDaemon({ ...noRescans, files, repositories: ["shop", "other"] });
}

async function setTimeouts(t: TestDaemon, repo: string, count: number): Promise<void> {
  for (let timeout = 1; timeout <= count; timeout++) {
    const { errors } = await t.owner.call("config/set", { repo, "svc.timeout": timeout });
    expect(errors).toEqual([]);
  }
}

/** All events of this client, once everything sent so far has arrived. */
async function received(client: TestClient): Promise<readonly (readonly unknown[])[]> {
  // Events arrive in order: this reply comes after all of them.
  await client.call("key/self");
  return client.events;
}

test("a key that may see none of the changes of a whole window resumes where it was, with a watch of one repository and of everything", async () => {
  await using t = await startWithWindow(20);
  const { result: key } = await t.owner.call("key/create", { name: "limited", grants });
  using connections = watchConnections();
  using client = await connect({ home: t.homeFolder, apiKey: key.key });
  const { seen: changes, ended: oneEnded } = collectWatch(client.watch({ repo: "shop" }));
  const { seen: messages, ended: allEnded } = collectWatch(client.watchEverything());
  let before = 0;
  await until(async () => {
    await t.owner.call("config/set", { repo: "shop", "svc.domain": `before-${++before}.test` });
    // Its requests to begin get their turn between the sets, which must not outrun the window.
    await client.run("key/self", {});
    return changes.length > 0 && messages.length > 0;
  }, "both watches to begin");
  await setTimeouts(t, "shop", 60);
  // This reply comes after all events sent before.
  await client.run("key/self", {});
  const begin = messages.length;
  connections.cut();
  await t.owner.call("config/set", { repo: "shop", "svc.domain": "after.test" });
  const newest = () => changes.at(-1)?.changes["svc"]?.["domain"]?.value;
  await until(() => newest() === "after.test" && messages.length >= begin + 3, "what came after");
  expect(messages.slice(begin)).toMatchObject([
    ["connection", "lost", {}],
    ["connection", "resumed", { lost: [] }],
    ["config", "changed", { repo: "shop", changes: { svc: { domain: { value: "after.test" } } } }],
  ]);
  client.close();
  expect([await oneEnded, await allEnded]).toEqual([undefined, undefined]);
});

test("a key that may see none of the changes gets the newest revision when it catches up after an absence", async () => {
  await using t = await startWithWindow(100);
  await setTimeouts(t, "shop", 50);
  const tool = await t.connectWith(grants);
  const { errors } = await tool.call("config/watch", { repo: "shop", since: 1, progress: true });
  expect(errors).toEqual([]);
  const newest = ["config", "progress", { repo: "shop", revision: 51 }];
  await until(() => JSON.stringify(tool.events.at(-1)) === JSON.stringify(newest), "the newest revision");
  expect(tool.events.length).toBeLessThanOrEqual(11);
});

describe("progress", () => {
  test("is sent a few times per window, and never for changes that the key gets anyway", async () => {
    await using t = await startWithWindow(100);
    await setTimeouts(t, "shop", 150);
    const tool = await t.connectWith(grants);
    await tool.call("config/watch", { repo: "shop", progress: true });
    await setTimeouts(t, "shop", 100);
    const events = await received(tool);
    expect(events.length).toBeGreaterThanOrEqual(5);
    expect(events.length).toBeLessThanOrEqual(11);
    const revisions = events.map(([, event, payload]) => {
      expect(event).toBe("progress");
      return (payload as { readonly revision: number }).revision;
    });
    expect(revisions).toEqual(revisions.toSorted((one, other) => one - other));
    // It lags behind by at most a tenth of the window.
    expect(revisions.at(-1)).toBeGreaterThan(251 - 11);

    await t.owner.call("config/watch", { repo: "shop", progress: true });
    await setTimeouts(t, "shop", 20);
    await t.owner.call("key/self");
    expect(t.owner.events).toHaveLength(20);
    expect(t.owner.events.every(([, event]) => event === "changed")).toBe(true);
  });

  test("is sent only to watches that request it, not after they end, and never for a repository in which the key may see nothing", async () => {
    await using t = await startWithWindow(100);
    const [silent, asking] = [await t.connectWith(grants), await t.connectWith(grants)];
    await silent.call("config/watch", { repo: "shop" });
    await asking.call("config/watch", { progress: true });
    await setTimeouts(t, "other", 20);
    expect(await received(asking)).toEqual([]);
    const { errors } = await asking.call("config/watch", { repo: "other", since: 1, progress: true });
    expect(errors).toMatchObject([{ code: 1102 }]);
    await setTimeouts(t, "shop", 20);
    expect(await received(silent)).toEqual([]);
    const seen = [...(await received(asking))];
    expect(seen.length).toBeGreaterThan(0);
    // It contains a revision number, which repo/list shows too, an opaque position, and nothing else.
    const progress = { repo: "shop", revision: expect.any(Number), position: expect.stringMatching(/^[\w-]{22}$/) };
    for (const event of seen) expect(event).toEqual(["config", "progress", progress]);
    await asking.call("config/unwatch");
    await asking.call("config/watch", { repo: "shop" });
    await setTimeouts(t, "shop", 20);
    expect(await received(asking)).toHaveLength(seen.length);
  });
});
