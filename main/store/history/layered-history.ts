import { applyConfigEdits, type Config, configValue } from "../../../shared/config.ts";
import { differencesAt, editsBefore, editsOf, type StoredDifference } from "../../../shared/config-diff.ts";
import type { ConfigPath } from "../../../shared/config-path.ts";
import type { CountedLayer } from "../../../shared/protocol.ts";
import { needsReveal } from "../../../shared/scopes/hidden-values.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { endlessTurn, type Turn } from "../../time/yielding.ts";
import { parsePosition } from "../log/commit-log.ts";
import type { RecordedChange, RecordedDifference } from "../types.ts";
import { countedValues, isMergedByName, type LayerValues } from "../values/counted-values.ts";
import type { ChangeRecord, ForgetRecord, JournalRecord, Segment } from "./record.ts";
import type { JournalDamageError } from "./segment.ts";

/** A journal, or those of all layers, as far as reading the past needs it. */
export interface RecordedJournal {
  readonly segments: readonly Segment[];
  backward(upTo: number, turn?: Turn): AsyncIterable<JournalRecord>;
  forward(after: number, upTo: number, turn?: Turn): AsyncIterable<ChangeRecord>;
  reportDamage(error: JournalDamageError): void;
}

/** The document of one layer, with its own history, which numbers its own revisions. */
export interface LayerHistory {
  readonly name: CountedLayer;
  readonly revision: number;
  /** The values of that revision. */
  readonly values: Config;
  /** See `LayerValues`. */
  readonly slot?: number | undefined;
  readonly journal: RecordedJournal & { oldest(newest: number): number };
}

/** A layer's own revision and values at some time. */
export interface LayerPast {
  readonly revision: number;
  readonly values: Config;
}

/** One revision on the way back: the layer that it changed, and all layers before and after it. */
interface Step {
  readonly index: number;
  readonly revision: number;
  /** The next or the last revision, if it is from the same entry of the log. */
  readonly together?: number | undefined;
  readonly record: ChangeRecord;
  readonly forgets: readonly ForgetRecord[];
  readonly before: readonly LayerPast[];
  readonly after: readonly LayerPast[];
}

/** A change in a layer's history, and the requests to forget values after it. */
interface Group {
  readonly record: ChangeRecord;
  readonly forgets: readonly ForgetRecord[];
}

/**
 * The revision of a repository whose layers have these revisions, the lowest first: their sum. The document of a higher layer begins with
 * an empty revision, which does not count.
 */
export function revisionOf(revisions: readonly number[]): number {
  return revisions.reduce((sum, one, index) => sum + (index === 0 ? one : Math.max(0, one - 1)), 0);
}

/**
 * The history of a repository with several layers, as one journal. Each revision changes one layer. They are in the order of the log, and
 * numbered from the present one down; records have the changes of what counts, and those of the layer beside them.
 */
export class LayeredHistory {
  readonly #layers: readonly LayerHistory[];
  readonly #scopes: Scopes;

  /** `layers`: the lowest first, as they are now. */
  constructor(layers: readonly LayerHistory[], scopes: Scopes) {
    this.#layers = layers;
    this.#scopes = scopes;
  }

  /** Those of the layer whose oldest revisions are no longer kept first, if there is one. */
  get segments(): readonly Segment[] {
    const firstOf = (segments: readonly Segment[]) => segments[0]?.revision ?? 0;
    const all = this.#layers.map(({ journal }) => journal.segments);
    return all.toSorted((one, other) => firstOf(other) - firstOf(one)).flat();
  }

  reportDamage(error: JournalDamageError): void {
    const damaged = this.#layers.find(({ journal }) => journal.segments.some(({ path }) => path === error.path));
    (damaged ?? this.#layers[0])?.journal.reportDamage(error);
  }

  /** See `Journal.backward`; only changes and requests to forget values. */
  async *backward(upTo: number, turn: Turn = endlessTurn): AsyncGenerator<JournalRecord> {
    for await (const step of this.#walk(turn)) {
      const { revision, forgets } = step;
      if (revision > upTo) continue;
      for (const forget of forgets) yield { ...forget, revision };
      yield this.#counted(step);
    }
  }

  /** See `Journal.forward`. Reads the histories twice: backward to find the order, then forward. */
  async *forward(after: number, upTo: number, turn: Turn = endlessTurn): AsyncGenerator<ChangeRecord> {
    const order: number[] = [];
    let pasts: readonly LayerPast[] | undefined;
    for await (const { revision, index, before } of this.#walk(turn)) {
      if (revision <= after) break;
      order.push(index);
      pasts = before;
      if (revision === after + 1) break;
    }
    if (pasts === undefined) return;
    const begins = pasts.map(({ revision }, index) => (index === 0 ? revision : Math.max(1, revision)));
    const sources = this.#layers.map(({ journal, revision }, index) =>
      journal.forward(begins[index] ?? 0, revision, turn)[Symbol.asyncIterator](),
    );
    let previous: ChangeRecord | undefined;
    try {
      for (const index of order.reverse()) {
        const next = await sources[index]?.next();
        if (next === undefined || next.done) return;
        const record = next.value;
        const before: readonly LayerPast[] = pasts;
        const values = applyConfigEdits(before[index]?.values ?? {}, editsOf(record.changes));
        const after = before.with(index, { revision: record.revision, values });
        const revision = revisionOf(after.map(past => past.revision));
        if (revision > upTo) return;
        const together = previous !== undefined && isSameEntry(previous, record) ? revision - 1 : undefined;
        yield this.#counted({ index, revision, together, record, before, after });
        previous = record;
        pasts = after;
      }
    } finally {
      for (const source of sources) await source.return?.();
    }
  }

  /** The layers as they were at a revision; undefined if the kept histories do not tell. */
  async pastAt(revision: number, turn: Turn = endlessTurn): Promise<readonly LayerPast[] | undefined> {
    let reached: readonly LayerPast[] = this.#layers;
    if (revisionOf(reached.map(past => past.revision)) === revision) return reached;
    for await (const { before, record } of this.#walk(turn)) {
      if (record.recovered !== undefined) return undefined;
      reached = before;
      const at = revisionOf(reached.map(past => past.revision));
      if (at <= revision) return at === revision ? reached : undefined;
    }
    return undefined;
  }

  /** All revisions, the newest first, as far as every layer's history reaches. */
  async *#walk(turn: Turn): AsyncGenerator<Step> {
    let pasts: readonly LayerPast[] = this.#layers;
    let newer: ChangeRecord | undefined;
    const sources = this.#layers.map(layer => groupsOf(layer, turn));
    try {
      const heads = await Promise.all(sources.map(source => source.next()));
      for (let index = -1; ; ) {
        // Not before it is needed: if it cannot be read, the record after it still can.
        const source = sources[index];
        if (source !== undefined) heads[index] = await source.next();
        // Where one history ends, the number of an earlier revision of another one is not known.
        const isOver = (past: LayerPast, at: number) => heads[at]?.done && past.revision > (at === 0 ? 0 : 1);
        if (pasts.some(isOver)) return;
        let group: Group | undefined;
        for (const [at, head] of heads.entries())
          if (!head.done && (group === undefined || !isNewer(group.record, head.value.record)))
            [index, group] = [at, head.value];
        if (group === undefined) return;
        const { record, forgets } = group;
        const after = pasts.map((past, at) => (at === index ? { ...past, revision: record.revision } : past));
        const values = applyConfigEdits(after[index]?.values ?? {}, editsBefore(record.changes));
        pasts = after.with(index, { revision: record.revision - 1, values });
        // The beginning of a higher layer.
        if (index > 0 && record.revision === 1) continue;
        const revision = revisionOf(after.map(past => past.revision));
        const isNext = (head: IteratorResult<Group, undefined>, at: number) =>
          at !== index && !head.done && isSameEntry(head.value.record, record);
        const older = heads.some(isNext) ? revision - 1 : undefined;
        const together = newer !== undefined && isSameEntry(newer, record) ? revision + 1 : older;
        newer = record;
        yield { index, revision, together, record, forgets, before: pasts, after };
      }
    } finally {
      for (const source of sources) await source.return(undefined);
    }
  }

  /** The record with the changes of what counts. */
  #counted({ index, revision, together, record, before, after }: Omit<Step, "forgets">): ChangeRecord {
    const layer = this.#layers[index]?.name ?? "shared";
    const valuesOf = (pasts: readonly LayerPast[]) =>
      this.#layers.map(({ name, slot }, at) => ({ name, slot, stored: pasts[at]?.values ?? {} }));
    const changed = countedChange(index, record.changes, valuesOf(before), valuesOf(after), this.#scopes);
    const ofLayer = { layer, ...changed.own };
    return { ...record, revision, changes: changed.changes, ofLayer, ...(together !== undefined && { together }) };
  }
}

/** What a change of one layer changes of what counts, and the layer's own changes with what is beneath them. */
export function countedChange(
  index: number,
  changes: readonly RecordedDifference[],
  before: readonly LayerValues[],
  after: readonly LayerValues[],
  scopes: Scopes,
): {
  readonly changes: readonly StoredDifference[];
  readonly own: { readonly changes: readonly RecordedDifference[]; readonly beneath: Config };
} {
  // A change of one field may break another's reference, or repair it.
  const referring = changes.flatMap(({ scope }): ConfigPath[] =>
    [...(scopes.get(scope)?.references.keys() ?? [])].map(field => ({ scope, field })),
  );
  const [was, is] = [countedValues(before, scopes).stored, countedValues(after, scopes).stored];
  const beneath = index === 0 ? {} : countedValues(after.slice(0, index), scopes).stored;
  const edits = changes.map(({ scope, field }) => ({ scope, field, value: configValue(beneath, scope, field) }));
  const counted = differencesAt([...changes, ...referring], was, is);
  // Whether a value that some keys may not see is the one of another layer would tell them what it is.
  const isTold = ({ scope, field }: ConfigPath) => counted.some(one => one.scope === scope && one.field === field);
  const isCovered = (path: ConfigPath) =>
    !isMergedByName(path, scopes) &&
    after.slice(index + 1).some(({ stored }) => configValue(stored, path.scope, path.field) !== undefined);
  const same = changes.flatMap(({ scope, field, before: own, after: next }): StoredDifference[] => {
    const value = configValue(is, scope, field);
    const isSecret = needsReveal(scopes.field(scope, field)?.schema, own, next, value);
    if (!isSecret || isTold({ scope, field }) || isCovered({ scope, field })) return [];
    return [{ scope, field, ...(value !== undefined && { before: value, after: value }) }];
  });
  return { changes: [...counted, ...same], own: { changes, beneath: applyConfigEdits({}, edits) } };
}

/** Whether a revision of one layer came after one of another, which is listed later: by the log, or in another log by the clock. */
function isNewer(one: ChangeRecord, other: ChangeRecord): boolean {
  const [here, there] = [parsePosition(one.position ?? ""), parsePosition(other.position ?? "")];
  if (here.log !== "" && here.log === there.log) return here.number > there.number;
  return one.time > other.time;
}

/** Whether revisions of two layers were made by one entry of the log. */
export function isSameEntry({ position }: RecordedChange, other: RecordedChange): boolean {
  return position !== undefined && position === other.position;
}

/** A layer's kept changes, the newest first, each with the requests to forget values that came after it. */
async function* groupsOf({ journal, revision }: LayerHistory, turn: Turn): AsyncGenerator<Group, undefined> {
  const oldest = journal.oldest(revision);
  let forgets: ForgetRecord[] = [];
  for await (const record of journal.backward(revision, turn)) {
    if (record.revision <= oldest) return;
    if (record.kind === "forget") forgets.push(record);
    if (record.kind !== "change") continue;
    yield { record, forgets };
    forgets = [];
  }
}
