/*
 * What a start may conclude from what its witnesses say. It knows nothing of how the store does it. Each claim names its rule:
 * 1 a write is recorded before it begins; 2 a file is ours only by text and stamp; 3 a start creates no file in a work tree; 4 a reply
 * in a tree waits for the folder's sync; 5 a set that a tree lacks is told; 7 a copy is known to be one; 8 numbers are given once;
 * 9 nothing is rebuilt over a gap; 10 an absent folder says nothing; 11 what was found is told; 12 late edits are read, then deleted.
 */

export type Values = { readonly [field: string]: string | number };

/** What file, log, history and index say. Revisions are those of the recorded life, in which 6 is the set during which it ends. */
export interface Facts {
  /** `local`: the file of a repository's local values, which is in the home too. */
  readonly place: "home" | "tree" | "local";
  readonly isClean: boolean;
  readonly valuesAt: readonly Values[];
  readonly sourceAt: readonly string[];
  /** `text`: the revision whose text of ours it has; `isVery`: it is the very file that we wrote; `late`: edited in the replaced file. */
  readonly file: {
    readonly state: "text" | "broken" | "missing" | "unmounted";
    readonly values: Values;
    readonly text: number | undefined;
    readonly isVery: boolean;
    readonly late: Values;
    /** Beside it is a new file that was not put in place. */
    readonly hasLeftover: boolean;
  };
  /** The newest record of a text in the history: its revision, and whether it says that the write is complete. */
  readonly recorded: { readonly revision: number; readonly isComplete: boolean } | undefined;
  /** The newest revision whose write is recorded complete. */
  readonly completed: number;
  readonly log: {
    readonly state: "whole" | "cut" | "missing" | "older";
    readonly entries: readonly number[];
    /** The revision of the entry that was cut off. */
    readonly removed: number | undefined;
  };
  readonly history: { readonly newest: number; readonly isDamaged: boolean };
  readonly index: number;
}

/** `told` and words: health or status has them; `told nothing`: they report no problem. */
export interface Claim {
  readonly rule: number;
  readonly about: "values" | "revision" | "file" | "watch" | `told ${string}`;
  readonly expected: unknown;
}

/** The answer; a sentence if the rules give none. */
export function answerTo(facts: Facts) {
  const { place, isClean, valuesAt, sourceAt, file, recorded, completed, log, history, index } = facts;
  const at = (revision: number) => valuesAt[revision] ?? {};
  // 8: the newest number that any witness names. 9: a gap is a revision that neither history nor log has.
  const newest = Math.max(history.newest, index, ...log.entries);
  const after = Array.from({ length: newest - history.newest }, (_, offset) => history.newest + 1 + offset);
  const lost = after.filter(revision => !log.entries.includes(revision));
  const isGap = lost.length > 0;
  const tail = log.entries.filter(revision => revision > Math.max(history.newest, ...lost));
  const inTail: Values = Object.assign({}, ...tail.map(revision => changes(at(revision - 1), at(revision))));
  const known = isGap ? { ...at(history.newest), ...inTail } : at(newest);
  // 2: texts that may be in place, or were until shortly before the newest write, as far as their writes are not recorded complete.
  const texts = recorded === undefined ? [] : [recorded.revision, recorded.revision - 1, recorded.revision - 2];
  const inPlace = recorded?.isComplete
    ? texts.slice(0, 1)
    : texts.filter((text, index) => index === 0 || text >= completed);
  const isKnownText = file.text !== undefined && inPlace.slice(0, 2).includes(file.text);
  const isOurs = isKnownText && file.isVery;
  // 7: texts recorded at or after the end of the older log, which ends with 4.
  const isOfCopy = file.text !== undefined && file.text >= 4 && file.text <= history.newest;
  const isHome = place !== "tree";
  const isOursByCopy = isHome && log.state === "older" && isOfCopy && !isOurs;

  const isAbsent = file.state === "missing";
  const hasNoText = file.state !== "text" && (isHome || !isAbsent);
  if (hasNoText && (isGap || history.isDamaged))
    return "no text, and a history with lost records: nothing has all values";
  // The history of local values is deleted with them.
  const isNamed = index > 0 || log.entries.length > 0 || (place === "local" && history.newest > 0);
  if (isHome && isAbsent && !isNamed) return "nothing is left, or only a history, as after the removal of a repository";
  if (isHome && recorded === undefined && log.state === "older")
    return "without a history, nothing says whether the older log's entries are newer than the file";

  const isLeap = isGap || (history.isDamaged && !hasNoText && !isKnownText && !isOursByCopy);
  const isTouched = (field: string) => {
    // Without a record of the text, or of the field, nothing says what the file had before the log's newest entries: these count. After a
    // gap, the newest record of a text may be an old one.
    if (field in inTail && (recorded === undefined || history.isDamaged || isGap)) return false;
    return recorded === undefined || inPlace.every(revision => file.values[field] !== at(revision)[field]);
  };
  const merge = () => {
    const all = Object.keys({ ...known, ...file.values });
    const values = all.map(field => [field, (isTouched(field) ? file.values : known)[field]]);
    return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Values;
  };
  const isKnown = hasNoText || isOursByCopy || (isOurs && (isHome || !isGap));
  const values = { ...(isKnown ? known : isHome ? merge() : file.values), ...file.late };
  const main = isLeap ? 9 : "refresh_day" in file.late ? 12 : file.state === "unmounted" ? 10 : isOursByCopy ? 7 : 2;
  const isSame = hasNoText || (newest > 0 && same(values, at(newest)));
  const revision = isLeap ? `a leap after ${newest}` : isSame ? `${newest} ${sourceAt[newest]}` : `${newest + 1} file`;
  const isWritten = !hasNoText && !same(values, file.values) && (isHome || isOurs);
  const claims: Claim[] = [
    { rule: main, about: "values", expected: values },
    { rule: main === 2 && log.state !== "whole" ? 8 : main, about: "revision", expected: revision },
    { rule: isAbsent && !isHome ? 3 : main, about: "file", expected: isWritten ? "written" : "unchanged" },
  ];
  // Where the log ends, as far as this life tells.
  const end = { whole: newest, cut: (log.removed ?? 0) - 1, missing: 0, older: 4 }[log.state];
  // The shared values of a repository have a history of their own, which is there and names an entry.
  const isBehind = end < newest || (place === "local" && log.state === "missing");
  if (newest >= 5)
    claims.push({ rule: isLeap ? 9 : 8, about: "watch", expected: isLeap || isBehind ? 1110 : "continues" });
  const told = (rule: number, words: string) => claims.push({ rule, about: `told ${words}`, expected: true });
  // 5: the write of the set is not recorded complete, and this file, which counts as a whole, is not where it is completed.
  const isUnfinished = !isClean && (history.newest === 6 || log.entries.includes(6));
  if (!isHome && !hasNoText && !isOurs && isUnfinished && file.values["timeout"] !== 33) told(5, "6 svc.timeout -");
  if (hasNoText) told(main, "1106");
  if (log.state === "older") told(7, "copy");
  // It is only known by the record of the text.
  const isUnknownLeftover = file.hasLeftover && recorded?.revision !== 6 && file.state !== "unmounted";
  if (!isHome && isUnknownLeftover) told(12, "temporary file");
  if (isLeap) told(11, "history");
  if (isBehind) told(11, "log");
  if (claims.every(({ about }) => !about.startsWith("told")) && !history.isDamaged) told(2, "nothing");
  return claims;
}

function changes(before: Values, after: Values): Values {
  return Object.fromEntries(Object.entries(after).filter(([field, value]) => before[field] !== value));
}

export function same(one: Values, other: Values): boolean {
  return Object.keys({ ...changes(one, other), ...changes(other, one) }).length === 0;
}
