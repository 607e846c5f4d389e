import { expect, test } from "vitest";
import { startTestDaemon } from "../helpers/daemon.ts";
import { pollingHandshake } from "../helpers/raw-http.ts";

test("a refused JSONP request is counted and logged like every other refusal", async () => {
  await using t = await startTestDaemon();
  expect((await fetch(`${t.url}${pollingHandshake}&j=0`)).status).toBe(403);
  expect((await t.owner.call("daemon/status")).result.refusals).toEqual({ origin: 1 });
  expect(t.log.join("")).toContain("JSONP is not supported");
});
