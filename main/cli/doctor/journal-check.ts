import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import pLimit from "p-limit";
import { describeCause } from "../../files/describe-cause.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import type { Home } from "../../home/home.ts";
import { type JournalLine, parseLine, type Segment } from "../../store/history/record.ts";
import { linesBackward, listSegments, readSegment, SegmentMissingError } from "../../store/history/segment.ts";
import { counted, type Finding, good, note, problem } from "./finding.ts";
import { knownRevisions } from "./known-revisions.ts";

const check = "journal";
/** Journals read concurrently; each file may have several megabytes. */
const concurrency = 8;
/** The number of damages reported per journal. */
const maximumDamages = 5;

interface Options {
  /** Whether a process holds the home and may be writing. */
  readonly running: boolean;
  onProgress(done: number, all: number): void;
}

interface Damage {
  readonly file: string;
  readonly line?: number;
  readonly message: string;
}

interface ReadJournal {
  readonly revisions: number;
  /** The revision of its last intact record. */
  readonly end: number;
  readonly damages: readonly Damage[];
  /** The file whose last record is incomplete after a crash. */
  readonly torn?: string;
  /** Whether it was compacted or rewritten while it was read. */
  readonly moved: boolean;
}

/** Reads every journal completely, and checks the checksums and the hash chain across its files. */
export async function checkJournals(home: Home, { running, onProgress }: Options): Promise<Finding[]> {
  const known = await knownRevisions(home);
  let journals = new Map<string, Segment[]>();
  try {
    journals = await listSegments(home.journal);
  } catch (error) {
    const action = "Make the folder readable; without it nothing can be changed.";
    if (systemErrorCode(error) !== "ENOENT")
      return [problem(check, describeCause(error), action, { file: home.journal })];
  }
  const findings: Finding[] = [];
  /** The journals whose end is where it is known to be. */
  const ends = new Set<string>();
  let revisions = 0;
  let done = 0;
  const limit = pLimit(concurrency);
  const checkOne = async (id: string, segments: readonly Segment[]) => {
    const read = await readWithRetries(home, id, segments, running);
    revisions += read.revisions;
    findings.push(...describeJournal(id, segments, read, running));
    // The end that is known may be behind a damaged one.
    if (read.damages.length > 0 || read.end >= (known.get(id) ?? 0)) ends.add(id);
    done += 1;
    onProgress(done, journals.size);
  };
  await Promise.all([...journals].map(([id, segments]) => limit(() => checkOne(id, segments))));
  for (const [id, revision] of known)
    if (revision > 0 && !ends.has(id)) findings.push(describeLostEnd(id, revision, journals.get(id)));
  findings.push(...(await findSetAside(home)));
  const all = `${counted(journals.size, "journal")} with ${counted(revisions, "revision")}, all intact`;
  const summary = journals.size === 0 ? "none yet" : all;
  return findings.some(({ result }) => result === "problem") ? findings : [good(check, summary), ...findings];
}

/** Reads again after a damage while a daemon is running, because its writes can make an intact journal look damaged. */
async function readWithRetries(
  home: Home,
  id: string,
  segments: readonly Segment[],
  running: boolean,
): Promise<ReadJournal> {
  let read = await readJournal(segments);
  for (let attempt = 0; running && attempt < 3 && (read.moved || read.damages.length > 0); attempt += 1) {
    read = await readJournal((await listSegments(home.journal)).get(id) ?? []);
  }
  return read;
}

async function readJournal(listed: readonly Segment[]): Promise<ReadJournal> {
  // A daemon that was killed after rewriting the journal leaves older generations, which are ignored.
  const segments = listed.filter(({ generation }) => generation === listed.at(-1)?.generation);
  const damages: Damage[] = [];
  let revisions = 0;
  let torn: string | undefined;
  let last: JournalLine | undefined;
  let end = 0;
  for (const [index, segment] of segments.entries()) {
    const { path } = segment;
    let bytes: Buffer;
    try {
      bytes = await readSegment(path);
    } catch (error) {
      if (error instanceof SegmentMissingError) return { revisions, end, damages, moved: true };
      damages.push({ file: path, message: describeCause(error) });
      last = undefined;
      continue;
    }
    const lines = [...linesBackward(bytes)].reverse();
    for (const [at, { text }] of lines.entries()) {
      const line = parseLine(text);
      const message = faultOf(line, last, at === 0 ? segment : undefined);
      if (message !== undefined) damages.push({ file: path, line: at + 1, message });
      if (line?.record.kind === "change") revisions += 1;
      end = Math.max(end, line?.record.revision ?? 0);
      // After a damaged line the chain starts again at the next line.
      last = line;
    }
    const whole = lines.at(-1)?.end ?? 0;
    if (whole === bytes.length && whole > 0) continue;
    if (index === segments.length - 1) torn = path;
    else damages.push({ file: path, line: lines.length + 1, message: "its last line was cut off" });
  }
  return { revisions, end, damages, ...(torn !== undefined && { torn }), moved: false };
}

/** Why a line is damaged; undefined if it is intact. `first`: the segment, if this is its first line. */
function faultOf(
  line: JournalLine | undefined,
  last: JournalLine | undefined,
  first: Segment | undefined,
): string | undefined {
  if (line === undefined) return "this line was altered";
  const { record, previous } = line;
  if (last !== undefined && previous !== last.hash) return "lines are missing before this one";
  if (first === undefined) return undefined;
  return record.kind === "checkpoint" && record.revision === first.revision
    ? undefined
    : "the beginning does not match the file name: it is missing, or the file was renamed";
}

function describeJournal(id: string, segments: readonly Segment[], read: ReadJournal, running: boolean): Finding[] {
  const { damages, torn } = read;
  const names = segments.map(({ path }) => basename(path)).join(" ");
  const action = `The values are safe in the repository's file; the history only shows changes after the damage. A backup may contain an intact journal. To start a new history, run repoconf stop and move these files out of the folder: ${names}`;
  const findings = damages
    .slice(0, maximumDamages)
    .map(({ message, file, line }) =>
      problem(check, message, action, { repo: id, file, ...(line !== undefined && { line, column: 1 }) }),
    );
  if (damages.length > maximumDamages) {
    const more = `${damages.length - maximumDamages} more places in the journal of ${id} are damaged`;
    findings.push(problem(check, more, action, { repo: id }));
  }
  // A running daemon may be writing this record.
  if (torn === undefined || running) return findings;
  const message = "its last record was cut off by a crash before it was committed";
  const nothing = "None needed: the daemon removes it at its next start.";
  return [...findings, note(check, message, nothing, { repo: id, file: torn })];
}

/** A journal that was cut at the end of a line, or deleted: nothing in it shows that. */
function describeLostEnd(id: string, revision: number, segments: readonly Segment[] | undefined): Finding {
  const what = segments === undefined ? "the history is missing" : "the end of the history is missing";
  const message = `${what}: it should have revision ${revision}, which the index and the log know`;
  const action = `The values are safe in the repository's file; compare them with those that you expect. A backup may contain the history: run repoconf stop before you put it back. Otherwise the daemon continues after a gap.`;
  const file = segments?.at(-1)?.path;
  return problem(check, message, action, { repo: id, ...(file !== undefined && { file }) });
}

/** Notes the damaged parts of journals that the daemon cut off or removed. */
async function findSetAside(home: Home): Promise<Finding[]> {
  const names = (await readdir(home.journal).catch(() => [])).filter(name => name.endsWith(".jsonl.damaged"));
  const message = "a damaged part of a journal, which the daemon kept here";
  const action = "Inspect it if data is missing; otherwise remove it.";
  return names.map(name => note(check, message, action, { file: join(home.journal, name) }));
}
