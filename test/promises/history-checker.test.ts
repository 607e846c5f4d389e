import { describe, expect, test } from "vitest";
import { checkHistory, type RecordedHistory, type RecordedSet } from "../helpers/history-checker.ts";

const revisions = [
  { revision: 2, changes: { a: "one" } },
  { revision: 3, changes: { a: "two", b: "two" } },
  { revision: 4, changes: { b: "three" } },
];

const first: RecordedSet = { client: "A", began: 1, changes: { a: "one" }, reply: { ended: 4, revision: 2 } };
const second: RecordedSet = {
  client: "B",
  began: 5,
  changes: { a: "two", b: "two" },
  expected: 2,
  reply: { ended: 10, revision: 3 },
};
/** Its connection was lost, but the set happened. */
const third: RecordedSet = { client: "A", began: 11, changes: { b: "three" } };
const refused: RecordedSet = {
  client: "C",
  began: 6,
  changes: { a: "late" },
  expected: 2,
  reply: { ended: 12, conflict: 3 },
};
/** Its connection was lost, and the set never happened. */
const never: RecordedSet = { client: "C", began: 20, changes: { a: "never" } };

const read = { client: "D", began: 7, ended: 9, revision: 3, values: { a: "two", b: "two" } };
const lateRead = { client: "D", began: 21, ended: 22, revision: 4, values: { a: "two", b: "three" } };
const events = revisions.map((revision, index) => ({ ...revision, seen: 14 + index }));
const watcher = {
  name: "W",
  sessions: [
    { since: 1, events: events.slice(0, 2) },
    { since: 3, events: events.slice(2) },
  ],
};

const right: RecordedHistory = {
  start: { revision: 1, values: { a: "", b: "" } },
  sets: [first, second, third, refused, never],
  reads: [read, lateRead],
  watchers: [watcher],
  revisions,
};

const watching = (...sessions: RecordedHistory["watchers"][number]["sessions"]): Partial<RecordedHistory> => ({
  watchers: [{ name: "W", sessions }],
});
const setting = (...sets: readonly RecordedSet[]): Partial<RecordedHistory> => ({ sets });

/** What is wrong with the history, and what the checker has to report, by promise. */
const wrong: {
  readonly [promise: string]: {
    readonly [title: string]: readonly [change: Partial<RecordedHistory>, problem: RegExp];
  };
} = {
  linearizable: {
    "an acknowledged set is gone": [{ revisions: revisions.slice(0, 1) }, /acknowledged at 3 and is at/],
    "an acknowledged set is at another revision": [
      setting({ ...first, reply: { ended: 4, revision: 3 } }, second, third),
      /acknowledged at 3 and is at 2/,
    ],
    "half a set took effect": [
      { revisions: revisions.map(one => (one.revision === 3 ? { ...one, changes: { a: "two" } } : one)) },
      /not all of/,
    ],
    "a revision is made by nobody": [setting(first, second, refused), /nobody made revision 4/],
    "a revision's number is skipped": [
      { revisions: revisions.map(one => (one.revision === 4 ? { ...one, revision: 5 } : one)) },
      /revision 5 stands where 4/,
    ],
    "a set happens twice": [{ revisions: [...revisions, { revision: 5, changes: { a: "one" } }] }, /at revisions 2,5/],
    "two sets share a revision": [
      setting(first, second, third, { ...first, client: "E" }),
      /two sets are at revision 2/,
    ],
    "a read sees half a set": [{ reads: [{ ...read, values: { a: "two", b: "" } }] }, /D read .* at revision 3/],
    "a read is of no revision": [{ reads: [{ ...read, revision: 9 }] }, /at revision 9/],
    "a read is stale: it lacks an acknowledged set": [
      { reads: [{ ...lateRead, revision: 2, values: { a: "one", b: "" } }] },
      /is at 2, after/,
    ],
    "a read sees an older state than an earlier read": [
      {
        sets: [first, second, { ...third, began: 6 }],
        reads: [
          { client: "D", began: 7, ended: 8, revision: 4, values: { a: "two", b: "three" } },
          { client: "E", began: 9, ended: 10, revision: 3, values: { a: "two", b: "two" } },
        ],
      },
      /E's read of revision 3 is at 3, after D's read/,
    ],
    "a read sees an older state than an earlier event": [
      {
        ...watching({ since: 1, events: events.map(event => ({ ...event, seen: event.revision * 10 })) }),
        reads: [{ ...lateRead, began: 41, ended: 42, revision: 3, values: { a: "two", b: "two" } }],
      },
      /after W's event of revision 4/,
    ],
    "a set is seen before it began": [
      { reads: [{ client: "D", began: 2, ended: 3, revision: 3, values: { a: "two", b: "two" } }] },
      /B's set .* is at 3, after D's read/,
    ],
    "a set that began after another's reply comes before it": [
      setting({ ...first, began: 30, reply: { ended: 31, revision: 2 } }, second, third),
      /A's set .* is at 2, after/,
    ],
    "a lost set that happened comes before one that had ended": [
      setting({ client: "A", began: 13, changes: { a: "one" } }, second, third),
      /A's set .* is at 2, after/,
    ],
    "a refusal names a revision that is long outdated": [
      setting(first, second, third, { ...refused, began: 30, expected: 3, reply: { ended: 31, conflict: 2 } }),
      /is at 2, after/,
    ],
  },
  "compare and set": {
    "two compare-and-sets on one revision both win": [
      setting(first, second, { ...third, expected: 2, reply: { ended: 13, revision: 4 } }, refused),
      /was to follow on 2 and is 4/,
    ],
    "a refused compare-and-set happened": [
      setting(first, second, { ...third, expected: 2, reply: { ended: 13, conflict: 3 } }),
      /was refused and is at revision 4/,
    ],
    "a compare-and-set is refused though its revision is current": [
      setting(first, second, third, { ...refused, expected: 3 }),
      /though 3 was current/,
    ],
  },
  watch: {
    "events are out of order": [
      watching({ since: 1, events: [events[1], events[0], events[2]].flatMap(event => event ?? []) }),
      /told of 2 after 3/,
    ],
    "an event comes twice": [watching({ since: 1, events: events.flatMap(event => [event, event]) }), /twice/],
    "an event is missing": [watching({ since: 1, events: events.filter(one => one.revision !== 3) }), /of 3 to 3/],
    "the last event is missing": [watching({ since: 1, events: events.slice(0, 2) }), /ended at 3/],
    "an event is half a set": [
      watching({ since: 1, events: events.map(event => ({ ...event, changes: { a: event.changes.a ?? "three" } })) }),
      /was told .* of 3/,
    ],
    "an event reports a value that never existed": [
      watching({ since: 1, events: [...events, { revision: 5, changes: { a: "x" }, seen: 30 }] }),
      /which never was/,
    ],
    "a change between two connections is missing": [
      watching({ since: 1, events: events.slice(0, 1) }, { since: 2, events: events.slice(2) }),
      /not told of 3/,
    ],
    "a change seen before a lost connection is repeated": [
      watching({ since: 1, events: events.slice(0, 2) }, { since: 3, events: events.slice(1) }),
      /told of 3 twice/,
    ],
  },
};

test("R7 R8 R9 the history checker finds nothing wrong in a correct history", () => {
  expect(checkHistory(right)).toEqual([]);
});

describe.each(Object.entries(wrong))("R7 R8 R9 the history checker finds, of %s, that", (promise, cases) => {
  test.each(Object.entries(cases))("%s", (_title, [change, problem]) => {
    const violations = checkHistory({ ...right, ...change });
    expect(violations.filter(one => one.promise === promise).map(one => one.problem)).toContainEqual(
      expect.stringMatching(problem),
    );
  });
});
