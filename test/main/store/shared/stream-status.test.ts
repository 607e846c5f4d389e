import type { StreamInfo } from "@nats-io/jetstream";
import { describe, expect, test } from "vitest";
import { statusOf } from "../../../../main/store/shared/stream/stream-session.ts";

const milliseconds = 1_000_000;

/** What a leader said of its followers, recorded: `active` is how long it has not heard of one, in nanoseconds. */
function statusWith(...replicas: readonly { readonly active: number; readonly current: boolean }[]) {
  const named = replicas.map((replica, index) => ({ name: `server${index}`, ...replica }));
  const info = {
    config: { name: "team", num_replicas: 3, max_bytes: -1 },
    created: "2026-11-30T16:25:41.410144668Z",
    state: { first_seq: 1, last_seq: 2, bytes: 100 },
    cluster: { name: "test", leader: "server2", replicas: named },
  };
  const { missing, isLed } = statusOf(info as unknown as StreamInfo);
  return { missing, isLed };
}

describe("what a leader says of its followers", () => {
  test.each([
    [
      "all follow",
      [
        { active: 245 * milliseconds, current: true },
        { active: 1, current: true },
      ],
      [],
      true,
    ],
    [
      "one was cut off while it led (2.10.27)",
      [
        { active: 818 * milliseconds, current: true },
        { active: 6_031 * milliseconds, current: false },
      ],
      ["server1"],
      true,
    ],
    [
      "one was cut off while it led, and the new leader never heard of it (2.15.1)",
      [
        { active: 853 * milliseconds, current: true },
        { active: 0, current: false },
      ],
      ["server1"],
      true,
    ],
    [
      "it was cut off itself, and still believes that it leads (2.10.27)",
      [
        { active: 7_546 * milliseconds, current: true },
        { active: 7_562 * milliseconds, current: true },
      ],
      ["server0", "server1"],
      false,
    ],
    [
      "it has just been elected, and nobody has answered it yet (2.15.1)",
      [
        { active: 0, current: false },
        { active: 0, current: false },
      ],
      ["server0", "server1"],
      false,
    ],
  ])("%s", (_, replicas, missing, isLed) => {
    expect(statusWith(...replicas)).toEqual({ missing, isLed });
  });
});
