import { expect, test } from "vitest";
import { Watch } from "../../../shared/client/watch.ts";
import type { EventMessage } from "../../../shared/protocol.ts";

test("a change right after a reconnection follows the message that the connection is resumed", async () => {
  const watch = new Watch(undefined);
  watch.begin({ shop: 1 });
  watch.lose();
  watch.resume({ shop: 1 });
  const payload = { repo: "shop", revision: 2, time: "", actor: "owner", source: "set", changes: {} } as const;
  const changed: EventMessage = ["config", "changed", payload];
  watch.take(changed);
  watch.release({}, []);
  watch.end();
  const messages: unknown[] = [];
  for await (const message of watch.messages()) messages.push(message);
  expect(messages).toEqual([["connection", "lost", {}], ["connection", "resumed", { lost: [] }], changed]);
});
