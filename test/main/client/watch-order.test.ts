import { expect, test } from "vitest";
import { Watch } from "../../../shared/client/watch.ts";
import type { EventMessage } from "../../../shared/protocol.ts";

const changed = (repo: string, revision: number): EventMessage => [
  "config",
  "changed",
  { repo, revision, time: "", actor: "owner", source: "set", changes: {} },
];

test("changes that arrive before the lost repositories are known follow the message that the connection is resumed", async () => {
  const watch = new Watch(undefined);
  watch.begin({ revisions: { shop: 1, tree: 1 }, position: "one" });
  watch.lose();
  watch.hold();
  watch.take(changed("shop", 2));
  // The connection is lost again: the daemon sends the same once more.
  watch.lose();
  watch.hold();
  watch.take(changed("shop", 2));
  watch.resume({ revisions: { shop: 2, tree: 9 } }, new Set(["tree"]));
  watch.take(changed("tree", 9));
  watch.take(changed("tree", 10));
  watch.end();
  const messages: unknown[] = [];
  for await (const message of watch.messages()) messages.push(message);
  expect(messages).toEqual([
    ["connection", "lost", {}],
    ["connection", "resumed", { lost: ["tree"] }],
    changed("shop", 2),
    changed("tree", 10),
  ]);
});
