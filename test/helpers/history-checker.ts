import { isDeepStrictEqual } from "node:util";

/** Values by field. No two sets use the same value, so that a value identifies its set. */
export type Values = { readonly [field: string]: string };

/**
 * What the clients of one repository sent and saw. Times are from one clock that never returns the same time twice; a request
 * begins before it is sent and ends when its reply was read.
 */
export interface RecordedHistory {
  /** The initial state. */
  readonly start: { readonly revision: number; readonly values: Values };
  readonly sets: readonly RecordedSet[];
  readonly reads: readonly RecordedRead[];
  readonly watchers: readonly RecordedWatcher[];
  /** The daemon's history at the end, oldest first. */
  readonly revisions: readonly RecordedRevision[];
}

export interface RecordedSet {
  readonly client: string;
  readonly began: number;
  readonly changes: Values;
  /** For compare and set: the expected current revision. */
  readonly expected?: number;
  /** Omitted: the connection was lost before a reply, and it is unknown whether the set happened. */
  readonly reply?: { readonly ended: number } & ({ readonly revision: number } | { readonly conflict: number });
}

export interface RecordedRead {
  readonly client: string;
  readonly began: number;
  readonly ended: number;
  readonly revision: number;
  readonly values: Values;
}

interface RecordedRevision {
  readonly revision: number;
  readonly changes: Values;
}

/** A watcher that resumes after lost connections. */
export interface RecordedWatcher {
  readonly name: string;
  readonly sessions: readonly {
    /** The revision from which it asked to resume. */
    readonly since: number;
    readonly events: readonly (RecordedRevision & { readonly seen: number })[];
  }[];
}

export interface Violation {
  readonly promise: "compare and set" | "linearizable" | "watch";
  readonly problem: string;
}

/**
 * Decides whether a history could have happened to one copy of the values, changed by one set at a time, each at its revision and
 * at one moment between its beginning and its reply. The daemon claims the order of the revisions, and it must be consistent:
 * every set has the place that its reply stated, every read saw the values at its place, and no request that began after another
 * had ended comes before it.
 */
export function checkHistory(history: RecordedHistory): readonly Violation[] {
  const states = statesOf(history);
  return [
    ...checkRevisions(history),
    ...checkReads(history, states),
    ...checkOrder(history),
    ...checkWatchers(history),
  ];
}

/** The values at each revision. */
function statesOf({ start, revisions }: RecordedHistory): ReadonlyMap<number, Values> {
  const states = new Map<number, Values>([[start.revision, start.values]]);
  let values = start.values;
  for (const { revision, changes } of revisions) {
    values = { ...values, ...changes };
    states.set(revision, values);
  }
  return states;
}

const text = (values: Values) => JSON.stringify(values);

/** The revisions that contain any of a set's values. */
function whereDone({ revisions }: RecordedHistory): (set: RecordedSet) => readonly RecordedRevision[] {
  const byValue = new Map<string, RecordedRevision[]>();
  for (const revision of revisions) {
    for (const [field, value] of Object.entries(revision.changes)) {
      const key = `${field}=${value}`;
      byValue.set(key, [...(byValue.get(key) ?? []), revision]);
    }
  }
  return ({ changes }) => [
    ...new Set(Object.entries(changes).flatMap(([field, value]) => byValue.get(`${field}=${value}`) ?? [])),
  ];
}

function checkRevisions(history: RecordedHistory): Violation[] {
  const violations: Violation[] = [];
  const note = (problem: string, promise: Violation["promise"] = "linearizable") =>
    void violations.push({ promise, problem });
  history.revisions.forEach(({ revision }, index) => {
    const expected = history.start.revision + 1 + index;
    if (revision !== expected) note(`revision ${revision} stands where ${expected} should`);
  });
  const done = whereDone(history);
  const explained = new Map<number, RecordedSet>();
  for (const set of history.sets) {
    const found = done(set);
    const what = `${set.client}'s set ${text(set.changes)}`;
    const [revision] = found;
    if (found.length > 1) note(`${what} is at revisions ${found.map(one => one.revision)}`);
    if (set.reply !== undefined && "conflict" in set.reply) {
      if (found.length > 0) note(`${what} was refused and is at revision ${revision?.revision}`, "compare and set");
      if (set.expected === undefined) note(`${what} was refused, though it compared nothing`, "compare and set");
      if (set.reply.conflict === set.expected)
        note(`${what} was refused, though ${set.expected} was current`, "compare and set");
      continue;
    }
    if (set.reply !== undefined && set.reply.revision !== revision?.revision)
      note(`${what} was acknowledged at ${set.reply.revision} and is at ${revision?.revision ?? "none"}`);
    if (revision === undefined) continue;
    if (!isDeepStrictEqual(revision.changes, set.changes))
      note(`revision ${revision.revision} is ${text(revision.changes)} and not all of ${what}`);
    if (set.expected !== undefined && revision.revision !== set.expected + 1)
      note(`${what} was to follow on ${set.expected} and is ${revision.revision}`, "compare and set");
    if (explained.has(revision.revision)) note(`two sets are at revision ${revision.revision}`);
    explained.set(revision.revision, set);
  }
  for (const { revision } of history.revisions) if (!explained.has(revision)) note(`nobody made revision ${revision}`);
  return violations;
}

function checkReads({ reads }: RecordedHistory, states: ReadonlyMap<number, Values>): Violation[] {
  return reads.flatMap(({ client, revision, values }) => {
    const state = states.get(revision);
    if (state !== undefined && isDeepStrictEqual(values, state)) return [];
    const problem = `${client} read ${text(values)} at revision ${revision}, which is ${state && text(state)}`;
    return [{ promise: "linearizable" as const, problem }];
  });
}

/** A moment at which somebody knew that a revision existed. */
interface Sight {
  readonly ended: number;
  readonly revision: number;
  readonly what: string;
}

/** A request that began after another had ended must not come before it. */
function checkOrder(history: RecordedHistory): Violation[] {
  const sights: Sight[] = [];
  const requests: { began: number; revision: number; writes: boolean; what: string }[] = [];
  const done = whereDone(history);
  for (const set of history.sets) {
    const { client, began, changes, reply } = set;
    const what = `${client}'s set ${text(changes)}`;
    if (reply !== undefined && "conflict" in reply) {
      sights.push({ ended: reply.ended, revision: reply.conflict, what });
      requests.push({ began, revision: reply.conflict, writes: false, what });
      continue;
    }
    const revision = reply?.revision ?? done(set)[0]?.revision;
    if (revision === undefined) continue;
    requests.push({ began, revision, writes: true, what });
    if (reply !== undefined) sights.push({ ended: reply.ended, revision, what });
  }
  for (const { client, began, ended, revision } of history.reads) {
    const what = `${client}'s read of revision ${revision}`;
    sights.push({ ended, revision, what });
    requests.push({ began, revision, writes: false, what });
  }
  // An event may arrive late, so its own order is not checked; but its revision is known from then on.
  for (const { name, sessions } of history.watchers)
    for (const { seen, revision } of sessions.flatMap(({ events }) => events))
      sights.push({ ended: seen, revision, what: `${name}'s event of revision ${revision}` });

  const violations: Violation[] = [];
  sights.sort((one, other) => one.ended - other.ended);
  let next = 0;
  let newest: Sight | undefined;
  for (const { began, revision, writes, what } of requests.sort((one, other) => one.began - other.began)) {
    for (let sight = sights[next]; sight !== undefined && sight.ended < began; sight = sights[++next])
      if (newest === undefined || sight.revision > newest.revision) newest = sight;
    if (newest === undefined) continue;
    const first = writes ? newest.revision + 1 : newest.revision;
    if (revision >= first) continue;
    const problem = `${what} is at ${revision}, after ${newest.what} was at ${newest.revision}`;
    violations.push({ promise: "linearizable", problem });
  }
  return violations;
}

/** Each watcher saw each revision once, in order, whole, across lost connections, and up to the last. */
function checkWatchers({ start, revisions, watchers }: RecordedHistory): Violation[] {
  const violations: Violation[] = [];
  const changesOf = new Map(revisions.map(({ revision, changes }) => [revision, changes]));
  const last = revisions.at(-1)?.revision ?? start.revision;
  for (const { name, sessions } of watchers) {
    const note = (problem: string) => void violations.push({ promise: "watch", problem: `${name}: ${problem}` });
    let current = sessions[0]?.since ?? start.revision;
    for (const { since, events } of sessions) {
      if (since !== current) note(`went on from ${since}, having seen ${current}`);
      for (const { revision, changes } of events) {
        if (revision === current) note(`was told of ${revision} twice`);
        else if (revision < current) note(`was told of ${revision} after ${current}`);
        else if (revision > current + 1) note(`was not told of ${current + 1} to ${revision - 1}`);
        const whole = changesOf.get(revision);
        if (whole === undefined) note(`was told of ${revision}, which never was`);
        else if (!isDeepStrictEqual(changes, whole)) note(`was told ${text(changes)} of ${revision}, ${text(whole)}`);
        current = Math.max(current, revision);
      }
    }
    if (current !== last) note(`ended at ${current}, and the last revision is ${last}`);
  }
  return violations;
}
