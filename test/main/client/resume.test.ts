import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { WatchMessage } from "../../../main/client/client.ts";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { watchConnections } from "../../helpers/daemon-connections.ts";
import { connect } from "../../helpers/patient-client.ts";

test("a watch that was away for longer than history is kept ends with 1110; a watch of everything reports what it lost", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository("shop");
  const other = await t.addRepository("other");
  await writeFile(join(t.homeFolder, "settings.json"), `{ "history": { "revisions": 5 } }`);
  await t.restart();
  using connections = watchConnections();
  using client = await connect({ home: t.homeFolder });
  using everything = await connect({ home: t.homeFolder });
  const watched = client.watch({ repo });
  let isFirst = false;
  const first = watched.next().then(() => {
    isFirst = true;
  });
  const messages: WatchMessage[] = [];
  void (async () => {
    for await (const message of everything.watchEverything()) messages.push(message);
  })();
  let timeout = 0;
  await until(async () => {
    await t.owner.call("config/set", { repo, "svc.timeout": ++timeout });
    return isFirst && messages.length > 0;
  }, "both watches to begin");
  await first;
  const ended = (async () => {
    for await (const _ of watched);
  })().catch((error: unknown) => error);
  // Without the endpoint's file no client can reconnect.
  const endpoint = join(t.homeFolder, "daemon.json");
  await rename(endpoint, `${endpoint}.away`);
  connections.cut();
  const begin = messages.length;
  for (let more = 0; more < 30; more++) await t.owner.call("config/set", { repo, "svc.timeout": ++timeout });
  await t.owner.call("config/set", { repo: other, "svc.timeout": 7 });
  await rename(`${endpoint}.away`, endpoint);
  expect(await ended).toMatchObject({ code: 1110 });
  const rest = () =>
    messages.slice(begin).filter(([resource, , payload]) => resource !== "config" || payload.repo === other);
  await until(() => rest().length === 3, "what was not lost");
  expect(rest()).toMatchObject([
    ["connection", "lost", {}],
    ["connection", "resumed", { lost: [repo] }],
    ["config", "changed", { repo: other, revision: 2, changes: { svc: { timeout: { value: 7 } } } }],
  ]);
});

test("a watch whose connection is lost before its first reply begins with the next connection", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository("shop");
  using connections = watchConnections();
  using client = await connect({ home: t.homeFolder });
  const next = client.watch({ repo, since: 1 }).next();
  connections.cut();
  await t.owner.call("config/set", { repo, "svc.timeout": 5 });
  expect(await next).toMatchObject({ value: { revision: 2, changes: { svc: { timeout: { value: 5 } } } } });
});
