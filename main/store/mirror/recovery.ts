import { isFromFile } from "../../../shared/change-source.ts";
import { applyConfigEdits, type Config, type ConfigEdit, configValue } from "../../../shared/config.ts";
import { sameConfig } from "../../../shared/config-diff.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import { runInParts } from "../../time/turns.ts";
import { sharing } from "../apply-commit.ts";
import type { Journal } from "../history/journal.ts";
import { type ChangeRecord, type TextRecord, valuesAfter } from "../history/record.ts";
import { type Commit, type CommitLog, type Committed, numberIn } from "../log/commit-log.ts";
import type { LogNumber } from "../types.ts";
import { interpretingConfig, type Rules } from "../values/interpret.ts";
import { valueByAnyName, withNewNames } from "../values/renamed-fields.ts";
import { keepSets } from "./merge-edit.ts";
import type { Mirror } from "./mirror.ts";
import { earlierText, readableRecords, recentTexts } from "./recorded-texts.ts";
import { replay } from "./replay.ts";
import type { PendingChange, StartingPoint } from "./starting-point.ts";

export interface RecoveryOptions {
  readonly repo: string;
  /** Commits that the log has and the journal may lack. */
  readonly unmirrored: readonly Committed<Commit>[];
  readonly log: CommitLog;
  /** The repository's entry in the index. */
  readonly indexed: { readonly revision: number } | undefined;
  /** Acknowledged entries that cannot be read. Their repositories are unknown. */
  readonly lost: readonly LogNumber[];
  /** Whether the repository was just added: the journal of an earlier one with this id does not concern its file. */
  readonly isNew: boolean;
  /** Whether it gets from the log what its history lacks: nothing is lost with that. */
  readonly beginsInLog: boolean;
  readonly rules: Rules;
}

/**
 * Finds out which commits of the log the journal and the file lack. A file is the daemon's own only if its text and its stamp are
 * recorded ones, because git or a person may put back an earlier text. The daemon's own file lacks the commits since its text. In a
 * work tree, any other file counts as a whole and is not written. In the home, it was edited by hand: the commits since its earlier
 * text stay, except for fields that the edit changed. The journal must be open. Throws the system's error.
 */
export async function startingPoint(
  mirror: Mirror,
  journal: Journal,
  options: RecoveryOptions,
): Promise<StartingPoint> {
  const { files } = mirror;
  const { content } = files;
  const hash = mirror.textHash();
  const { indexed, isNew, beginsInLog, lost, log } = options;
  const { head } = journal;
  const text = head?.textRecord;
  const isInTree = content.metadata?.inTree === true;
  // In the home, a file that was only touched or copied is no edit.
  const isNewest = isInTree ? mirror.isTextRecorded : text?.textHash === hash;
  // If the daemon died or the disk failed between recording a text and replacing the file, the file is still the earlier one.
  const isReplaced = !isNewest && mirror.isReplacedText;
  const isOfOriginal = log.copiedAt !== undefined && numberIn(log.id, text?.position) === 0;
  const mayBeOlder = isOfOriginal && !isInTree && !isNewest && !isReplaced;
  const earlier = mayBeOlder ? await earlierText(journal, hash, options) : undefined;
  const inHistory = await valuesInHistory(mirror, journal, options, earlier);
  const replayed = replay(head, inHistory.config, options);
  const { tail, records, lineage } = replayed;
  // What the history has through its newest text is not lost.
  const lostHere = lost.filter(number => number > log.numberOf(text?.position)).length;
  const given = Math.max(
    indexed?.revision ?? 0,
    journal.assigned,
    replayed.newest > 0 ? replayed.newest + lostHere : 0,
  );
  const isGap = replayed.isGap || given > replayed.newest;
  const isLost = !isNew && (isGap || !inHistory.isWhole);
  journal.startAfter(isLost ? given : replayed.beginsBehind);
  const written = inHistory.config;
  const recorded = replayed.valid ?? written;
  const newest = isGap ? given : replayed.newest;
  const position = records.at(-1)?.position ?? head?.position;
  // Without a record of the text, the file may lack every change that is still known, unless later ones are lost, which it may have.
  const withoutText = isLost && !isGap ? 0 : (head?.revision ?? 0);
  const newestFileRevision = text === undefined ? withoutText : isNewest ? text.fileRevision : text.replacedRevision;
  const isKnown = isNewest || isReplaced || earlier !== undefined;
  // The newest text has all edits that were recorded as missing in the text before it.
  const unrecorded = isNewest && text?.replacedHash !== hash ? replayed.unrecordedSince : replayed.unrecorded;
  const { scopes } = options.rules;
  const newNames = (config: Config) => withNewNames(config, scopes).config;
  const isByHand = (record: ChangeRecord) => !isKnown && isFromFile(record);
  const lackingAfter = async (after: number) =>
    after < newest
      ? await changesSince(journal, records, { after, isByHand }, recorded)
      : { lacking: [], unedited: [] };
  const stateBefore = ({ lacking, unedited }: ChangesSince) =>
    applyConfigEdits(recorded, [...unedited, ...lacking.map(valueBefore)]);
  // In the home, an edit by hand may be based on any text that the file had shortly before its newest write.
  const recent = isKnown || isInTree ? undefined : await recentTexts(journal);
  const fileRevision = earlier?.fileRevision ?? recent?.since ?? newestFileRevision;
  const since = await lackingAfter(fileRevision);
  const { lacking, unedited } = since;
  const onDiskThen = applyConfigEdits(recorded, [
    ...unedited,
    ...lacking.map(one => ({ ...valueBefore(one), ...one.byHand })),
  ]);
  const before = { onDisk: onDiskThen, target: applyConfigEdits(recorded, [...unedited, ...unrecorded]) };
  const hasReplaced = files.values.replacedPath !== undefined && text !== undefined;
  const replaced = hasReplaced ? stateBefore(await lackingAfter(text.replacedRevision)) : undefined;
  const isCopy = earlier !== undefined;
  const isRecovery = isLost && !beginsInLog;
  const known = { written, tail, unrecorded, before, replaced, isLost, isRecovery, isCopy, pending: [] };
  const stateWith = (target: Config) => ({ lineage, revision: newest, position, ...sharing(target, recorded) });
  // A broken file has no values. Its last ones will be compared with the file once a person has fixed it.
  const onDisk = content.kind === "good" ? content.config : onDiskThen;
  if (content.kind === "broken")
    return { ...known, state: stateWith(before.target), onDisk, fileRevision, merged: false };
  // A file in a work tree may be another branch's. Where it is missing, none is created: the branch may not have it.
  const isTakenWhole = isNew || (isInTree && (!isKnown || isGap || files.values.status.kind === "missing"));
  const isPending = ({ scope, field, value, by }: Lacking) =>
    !isByHand(by) && !sameJson(valueByAnyName(onDisk, { scope, field }, scopes), value);
  const pending = isInTree && !isKnown && !isNew ? lacking.filter(isPending) : [];
  if (isTakenWhole)
    return { ...known, state: stateWith(onDisk), unrecorded: [], onDisk, fileRevision, merged: false, pending };
  // A text that the daemon wrote lacks all these changes. Another text lacks those of fields that still have their earlier value. A
  // value under a field's old name counts as the field's value.
  const base = isKnown ? applyConfigEdits(onDisk, unrecorded) : onDisk;
  const after = applyConfigEdits(onDiskThen, lacking);
  const keyOf = ({ scope, field }: ConfigPath) => joinConfigPath(scope, scopes.newName(scope, field) ?? field);
  // Where no record says what the file had, what the log has counts.
  const isUnknown = ({ before, by }: Lacking) =>
    isRecovery &&
    (text === undefined || (isGap && records.includes(by)) || (!inHistory.isWhole && before === undefined));
  const unknown = new Map(lacking.map(one => [keyOf(one), isUnknown(one)]));
  const possible = [onDiskThen];
  // It is not known whether the file had the newest recorded text.
  if (!isKnown && text !== undefined && text.fileRevision > fileRevision)
    possible.push(stateBefore(await lackingAfter(text.fileRevision)));
  // The edit by hand may have been made in another machine's file.
  if (!isKnown && log.signature.machine !== undefined) possible.push(stateBefore(since));
  // The values of recent texts, and those of commits that the history lacks: it may also lack that the file had got them.
  const writtenChanges = [...(recent?.records ?? []), ...(isKnown ? [] : records)].flatMap(({ changes }) => changes);
  const values = Map.groupBy(writtenChanges, keyOf);
  const wasWritten = (path: ConfigPath, value: JsonValue | undefined) =>
    values.get(keyOf(path))?.some(one => one.after !== undefined && sameJson(one.after, value)) === true;
  const mayHave = (path: ConfigPath, value: JsonValue | undefined) =>
    isKnown || unknown.get(keyOf(path)) === true || wasWritten(path, value);
  const kept = keepSets(base, after, lacking, possible, scopes, mayHave);
  const edits: readonly ConfigEdit[] = [...(isKnown ? unrecorded : []), ...kept.edits];
  const target = edits.length > 0 ? applyConfigEdits(onDisk, edits) : onDisk;
  return {
    ...known,
    state: stateWith(target),
    onDisk,
    fileRevision,
    merged: !isKnown && edits.length > 0 && !possible.some(config => sameConfig(newNames(onDisk), newNames(config))),
    before: { ...before, onDisk: applyConfigEdits(onDiskThen, kept.untouched) },
  };
}

/** A changed field: its earlier value, and the one that it is to have. `by`: the newest revision that changed it. */
interface Lacking extends PendingChange {
  readonly before: JsonValue | undefined;
  /** The last value that an edit by hand gave it. */
  readonly byHand?: { readonly value: JsonValue | undefined };
}

function valueBefore({ scope, field, before }: Lacking) {
  return { scope, field, value: before };
}

interface ChangesSince {
  readonly lacking: readonly Lacking[];
  /** The values that fields had in the file before they became inactive without an edit of it: the file keeps them. */
  readonly unedited: readonly ConfigEdit[];
}

/** The fields that changed after a revision, with their values at that revision and now, as far as known. */
async function changesSince(
  journal: Journal,
  tail: readonly ChangeRecord[],
  { after, isByHand }: { readonly after: number; isByHand(record: ChangeRecord): boolean },
  recorded: Config,
): Promise<ChangesSince> {
  const changed = new Map<string, Lacking>();
  const kept = new Map<string, ConfigEdit>();
  const add = (record: ChangeRecord) => {
    const { changes, recovered, unedited = [] } = record;
    const isUnedited = new Set(unedited.map(({ scope, field }) => joinConfigPath(scope, field)));
    for (const path of (recovered?.lacking ?? changes).toReversed()) {
      const { scope, field, before, after: value } = path;
      const key = joinConfigPath(scope, field);
      const known = changed.get(key);
      if (isUnedited.has(key)) {
        if (known === undefined) kept.set(key, { scope, field, value: before });
        else changed.set(key, { ...known, before });
        continue;
      }
      const keptEdit = kept.get(key);
      const present = keptEdit === undefined ? configValue(recorded, scope, field) : keptEdit.value;
      const byHand = known?.byHand ?? (isByHand(record) ? { value } : undefined);
      const newest = known === undefined ? present : known.value;
      const by = known?.by ?? record;
      changed.set(key, { scope, field, before, value: newest, by, ...(byHand !== undefined && { byHand }) });
    }
  };
  for (const record of tail.toReversed()) if (record.revision > after) add(record);
  for await (const record of readableRecords(journal)) {
    if (record.revision <= after) break;
    if (record.kind === "change") add(record);
  }
  // In the order of the changes, so that new fields are written to the file in the same order as without a crash.
  // One that is still active may have been edited by its old name.
  const isGone = ({ scope, field }: ConfigEdit) => configValue(recorded, scope, field) === undefined;
  return { lacking: [...changed.values()].toReversed(), unedited: [...kept.values()].filter(isGone) };
}

/**
 * The values of the history's newest revision: those of the file, if its text is recorded with it, without reading the history. Where
 * records are damaged, those of the last recorded text that the file has, with the changes since, or else not whole.
 */
async function valuesInHistory(
  mirror: Mirror,
  journal: Journal,
  { rules }: RecoveryOptions,
  earlier: TextRecord | undefined,
): Promise<{ readonly config: Config; readonly isWhole: boolean }> {
  const { content } = mirror.files;
  const { head } = journal;
  const text = earlier ?? head?.textRecord;
  const hash = mirror.textHash();
  const isNewest = text?.textHash === hash;
  const isKnown = content.kind === "good" && text !== undefined && (isNewest || text.replacedHash === hash);
  const valuesOfText = async () => {
    if (!isKnown) return undefined;
    // All values of a text that is recorded as fully active were active.
    const known = isNewest && text.isFullyActive ? { ...rules, isTrusted: () => true } : rules;
    const checks = { acknowledged: content.config };
    const { stored, health } = await runInParts(interpretingConfig(content.config, undefined, known, checks));
    return health.length === 0 ? stored : undefined;
  };
  if (isNewest && text.isFullyActive && text.fileRevision === head?.revision) {
    const config = await valuesOfText();
    if (config !== undefined) return { config, isWhole: true };
  }
  const replayed = await journal.replay();
  if (replayed.isWhole) return replayed;
  const config = await valuesOfText();
  if (config === undefined || text === undefined) return replayed;
  const changes: ChangeRecord[] = [];
  for await (const record of readableRecords(journal)) {
    if (record.revision <= (isNewest ? text.fileRevision : text.replacedRevision))
      return { config: valuesAfter(config, changes.reverse()), isWhole: true };
    if (record.kind === "change") changes.push(record);
  }
  return replayed;
}
