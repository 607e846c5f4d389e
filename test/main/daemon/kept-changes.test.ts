import { expect, test } from "vitest";
import { startTestDaemon } from "../../helpers/daemon.ts";

test("who last changed a field, when and why stays known when the history no longer goes back that far", async () => {
  const settings = { history: { revisions: 20 } };
  await using t = await startTestDaemon({ files: { "settings.json": settings }, repositories: ["shop"] });
  const ask = async (field: string) => {
    const { result } = await t.owner.call("config/explain", { repo: "shop", field });
    const { revision, time, actor, source, reason } = result;
    return { revision, time, actor, source, reason };
  };
  await t.owner.call("config/set", { repo: "shop", "svc.domain": "a.test", reason: "the first one" });
  await t.owner.call("config/set", { repo: "shop", "svc.provider": "here", "svc.proxy_url": "there", reason: "both" });
  const known = { "svc.domain": await ask("svc.domain"), "svc.provider": await ask("svc.provider") };
  expect(known["svc.domain"]).toMatchObject({ revision: 2, actor: "owner", source: "set", reason: "the first one" });
  const push = async () => {
    for (let count = 0; count < 60; count++)
      await t.owner.call("config/set", { repo: "shop", "svc.timeout": count % 2 });
  };
  const reader = await t.connectWith([{ repos: "*", fields: ["svc.provider"], right: "read" }]);
  const steps = [
    push,
    t.restart,
    async () => t.owner.call("history/forget", { repo: "shop", field: "svc.timeout" }),
    push,
  ];
  for (const [at, step] of steps.entries()) {
    await step();
    const { result } = await t.owner.call("history/list", { repo: "shop", field: "svc.domain" });
    expect([at, result]).toEqual([at, []]);
    for (const [field, before] of Object.entries(known)) expect([at, await ask(field)]).toEqual([at, before]);
    const { result: found } = await t.owner.call("config/search", { query: "by:owner field:svc.domain" });
    expect([at, found]).toEqual([at, [{ repo: "shop", scope: "svc", field: "domain", value: "a.test" }]]);
    if (at > 0) continue;
    // A reason may mention the other field of its change, which the key may not read.
    const { result: seen } = await reader.call("config/explain", { repo: "shop", field: "svc.provider" });
    expect([seen.revision, seen.reason]).toEqual([3, undefined]);
  }
});
