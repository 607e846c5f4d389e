import { hash } from "node:crypto";
import pLimit from "p-limit";
import { DurableTextFile } from "../../files/durable-text-file.ts";
import type { FileSystem } from "../../files/file-system.ts";
import type { RecordedFolder } from "../../git/work-tree-folder.ts";
import type { Clock } from "../../time/clock.ts";
import type { FileStamps } from "../mirror/repository-files.ts";
import type { Position, RepositoryState, RepositorySummary } from "../types.ts";

/** The index's entry of a repository, used until its files are read. */
export interface IndexedRepository extends RepositorySummary, Pick<RepositoryState, "position"> {
  readonly stamps: FileStamps;
  /** Whether the file of the values had every commit. */
  readonly isLevel?: true;
  /** The end of its history, as `endOf` tells it. */
  readonly history?: string;
  /** Identifies the folder of an in-tree repository. */
  readonly folder?: RecordedFolder;
  /** What counts over all layers, if there are several; the other members are of the shared one. */
  readonly counted?: Pick<RepositorySummary, "modified" | "health">;
}

/**
 * The entries of an index by id. Those that were read stay text until somebody asks for them: a start needs few, and to parse all, or even
 * to make a string of each, would take most of its time.
 */
export class IndexEntries {
  /** The text of those that are not parsed yet. */
  #text: string;
  /** How many are not parsed yet. */
  #unparsed = 0;
  /** Where the entry begins in the text, or the entry; undefined if only the id is known. */
  readonly #entries = new Map<string, number | IndexedRepository | undefined>();

  /** With the entries of a text that `contentOf` made, whose lines begin at `from`. */
  constructor(text = "", from = 0) {
    this.#text = text;
    for (let at = from; text[at] === '"'; at = text.indexOf("\n", at) + 1) {
      const end = text.indexOf('"', at + 1);
      this.#entries.set(text.slice(at + 1, end), end + 2);
      this.#unparsed += 1;
    }
  }

  get size(): number {
    return this.#entries.size;
  }

  ids(): Iterable<string> {
    return this.#entries.keys();
  }

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  /** `member`: JSON text such as `"base":`, without which the entry is not needed; in a string of the entry, quotes are escaped. */
  get(id: string, member = ""): IndexedRepository | undefined {
    const entry = this.#entries.get(id);
    if (typeof entry !== "number") return entry;
    const text = this.#textAt(entry);
    if (!text.includes(member)) return undefined;
    const parsed: IndexedRepository = JSON.parse(text);
    this.set(id, parsed);
    return parsed;
  }

  set(id: string, entry: IndexedRepository | undefined): void {
    this.#leaveText(id);
    this.#entries.set(id, entry);
  }

  delete(id: string): void {
    this.#leaveText(id);
    this.#entries.delete(id);
  }

  /** The text is kept no longer than an entry needs it. */
  #leaveText(id: string): void {
    if (typeof this.#entries.get(id) === "number") this.#unparsed -= 1;
    if (this.#unparsed === 0) this.#text = "";
  }

  /** The entry as JSON text; undefined if only the id is known. */
  textOf(id: string): string | undefined {
    const entry = this.#entries.get(id);
    return typeof entry === "number" ? this.#textAt(entry) : entry && JSON.stringify(entry);
  }

  #textAt(at: number): string {
    const end = this.#text.indexOf("\n", at);
    return this.#text.slice(at, this.#text[end - 1] === "," ? end - 1 : end);
  }
}

export interface IndexData {
  readonly repositories: IndexEntries;
  /** The documents of layers. */
  readonly layers: IndexEntries;
  /** The end of the log. */
  readonly log?: Position;
  /** Marks a clean stop, after which nothing was written, if the log is marked with the same. */
  readonly stop?: string;
}

/** What is to be written. */
export interface NewIndex {
  readonly repositories: Iterable<IndexLine>;
  readonly layers: Iterable<IndexLine>;
  readonly log: Position;
  readonly stop: string | undefined;
}

/** An entry as JSON text. */
export type IndexLine = readonly [id: string, entry: string];

const [opening, between] = ['{"repositories":{\n', '\n},"layers":{\n'];

/** JSON with a line for each entry, so that all are found without parsing: no string has a line break in JSON. */
function contentOf({ repositories, layers, ...end }: NewIndex): string {
  const lines = (entries: Iterable<IndexLine>) => Array.from(entries, ([id, entry]) => `"${id}":${entry}`).join(",\n");
  return `${opening}${lines(repositories)}${between}${lines(layers)}\n},${JSON.stringify(end).slice(1, -1)}`;
}

function parseContent(content: string): IndexData {
  if (!content.startsWith(opening)) return parseLine(`${content}}`);
  const layers = content.lastIndexOf(between) + between.length;
  const end = content.lastIndexOf("\n") + 1;
  return {
    ...JSON.parse(`{${content.slice(end + "},".length)}}`),
    repositories: new IndexEntries(content, opening.length),
    layers: new IndexEntries(content, layers),
  };
}

/** What an earlier version wrote, in one line. */
function parseLine(text: string): IndexData {
  const { repositories, layers, ...end } = JSON.parse(text);
  const entriesOf = (part: { readonly [id: string]: IndexedRepository } = {}) => {
    const entries = new IndexEntries();
    for (const [id, entry] of Object.entries(part)) entries.set(id, entry);
    return entries;
  };
  return { ...end, repositories: entriesOf(repositories), layers: entriesOf(layers) };
}

/** The end of the index's text: a checksum of everything before it. */
function checksumOf(text: string): string {
  return `,"checksum":"${hash("sha256", text)}"}\n`;
}

const checksumLength = checksumOf("").length;
const empty = '{"repositories":{}}';

/**
 * Caches what the daemon knew of every repository when it last ran, so that a start reads no repository's file. If it is missing or
 * damaged, it is created again; where a file differs from it, the file counts.
 */
export class RepositoryIndex {
  readonly #file: DurableTextFile;
  readonly #lock = pLimit(1);

  constructor(path: string, temporaryFolder: string, fileSystem: FileSystem, clock: Clock) {
    const maximumBytes = 1024 ** 3;
    this.#file = new DurableTextFile({ path, temporaryFolder, mode: 0o600, maximumBytes, fileSystem, clock });
  }

  /**
   * The content; empty if the file cannot be used. A start with 10,000 repositories reads megabytes: comparing a checksum takes a tenth
   * of the time that validating every entry would.
   */
  async read(): Promise<{ readonly data: IndexData; readonly damaged: boolean }> {
    const text = await this.#file.read().catch(() => "");
    if (text === null) return { data: parseLine(empty), damaged: false };
    const content = text.slice(0, -checksumLength);
    if (text.slice(-checksumLength) !== checksumOf(content)) return { data: parseLine(empty), damaged: true };
    return { data: parseContent(content), damaged: false };
  }

  /** Writes the index. `collect` is called when it is this write's turn. */
  write(collect: () => NewIndex): Promise<void> {
    return this.#lock(() => {
      const content = contentOf(collect());
      return this.#file.write(content + checksumOf(content));
    });
  }
}
