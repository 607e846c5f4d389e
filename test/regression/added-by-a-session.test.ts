import { expect, test } from "vitest";
import { startTestDaemon } from "../helpers/daemon.ts";

test("a repository added in a session's window shows the owner as its actor, even to keys that must not see sessions", async () => {
  await using t = await startTestDaemon();
  const { result: session } = await t.owner.call("session/create", { label: "browser" });
  const window = await t.connect(session);
  expect((await window.call("repo/add", { name: "shop", id: "shop" })).errors).toEqual([]);
  const tool = await t.connectWith([{ repos: "*", fields: ["svc.timeout"], right: "read" }]);
  const actors: string[] = [];
  for (const client of [t.owner, window, tool])
    for (const { actor } of (await client.call("history/list", { repo: "shop" })).result) actors.push(actor);
  expect(actors).toEqual(["owner (browser)", "owner (browser)", "owner"]);
});
