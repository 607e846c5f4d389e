import { rename } from "node:fs/promises";
import pLimit from "p-limit";
import { splitConfigPath } from "../../../shared/config-path.ts";
import { limitExceeded, RepoconfError } from "../../../shared/errors.ts";
import { isJsonObject, type JsonValue, sameJson } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import type { Draft, DraftName, DraftsChanged, KeptDraft, OperationResults, Sent } from "../../../shared/protocol.ts";
import { compileSchema } from "../../../shared/schema/compile-schema.ts";
import { SpareSteps } from "../../../shared/schema/step-budget.ts";
import { masksAnything } from "../../../shared/scopes/masks.ts";
import { describeCause } from "../../files/describe-cause.ts";
import type { DurableTextFile } from "../../files/durable-text-file.ts";
import { JsonFile } from "../../files/json-file.ts";
import { JsonTextError, readJsonText } from "../../files/json-text.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { NewFinding } from "../../store/types.ts";
import { draftSchema } from "../socket/argument-schemas.ts";
import { jsonBytes } from "../socket/measure.ts";
import { unknownRepository } from "./config-service.ts";

export interface DraftsOptions {
  /** drafts.json. */
  readonly file: DurableTextFile;
  readonly scopes: Pick<Scopes, "field">;
  hasRepository(id: string): boolean;
  onChanged(changed: DraftsChanged): void;
  onProblem(message: string, context: object): void;
  /** Called with what a person should know. */
  onFound(found: NewFinding): Promise<void>;
}

interface Entry {
  readonly draft: Draft;
  readonly isMasked: boolean;
  /** That of its last change. */
  readonly revision: number;
  /** Its size as JSON. */
  readonly bytes: number;
}
type Entries = ReadonlyMap<string, Entry>;

interface DraftsData {
  readonly drafts: readonly Draft[];
}

/**
 * The owner's unsaved edits on the screen, which survive the tab and the daemon. They are in one file on disk, except those that
 * contain masked values, or may: these are only in memory.
 */
export class Drafts {
  readonly #options: DraftsOptions;
  readonly #file: JsonFile<DraftsData>;
  /** Runs one change at a time: each is on disk before it is visible and published. */
  readonly #lock = pLimit(1);
  #entries: Entries = new Map();
  /** The contents of the file; undefined if unknown. */
  #written: readonly Draft[] | undefined = [];
  #revision = 0;

  private constructor(options: DraftsOptions) {
    this.#options = options;
    this.#file = new JsonFile(options.file, parseDrafts);
  }

  /** Reads the stored drafts. An invalid file is renamed to drafts.json.broken. */
  static async open(options: DraftsOptions): Promise<Drafts> {
    const drafts = new Drafts(options);
    await drafts.#lock(() => drafts.#read());
    return drafts;
  }

  /** The number of changes since the start. */
  get revision(): number {
    return this.#revision;
  }

  list(): readonly KeptDraft[] {
    return Array.from(this.#entries.values(), asPublished);
  }

  /**
   * Stores and removes drafts, all of them or none, except those that others have changed after what the sender knew. Throws
   * RepoconfError 1102, 1107 or 1108.
   */
  change(drafts: readonly Sent<Draft>[], removed: readonly Sent<DraftName>[]): Promise<OperationResults["draft/set"]> {
    return this.#lock(async () => {
      const next = new Map(this.#entries);
      const changed: Entry[] = [];
      const behind: DraftName[] = [];
      for (const { known, ...draft } of drafts) {
        if (!this.#options.hasRepository(draft.repo)) throw unknownRepository(draft.repo);
        if (sameJson(next.get(keyOf(draft))?.draft, draft)) continue;
        if (this.#isBehind(draft, known)) {
          behind.push(nameOf(draft));
          continue;
        }
        const entry = await this.#entryOf(draft);
        next.set(keyOf(draft), entry);
        changed.push(entry);
      }
      const dropped: DraftName[] = [];
      for (const { known, ...name } of removed)
        if (this.#isBehind(name, known)) behind.push(name);
        else if (next.delete(keyOf(name))) dropped.push(name);
      if (changed.length > 0) assertFits(next);
      // Even if nothing changed: this retries an earlier write that failed.
      await this.#write(next);
      this.#entries = next;
      if (changed.length > 0 || dropped.length > 0) {
        this.#revision += 1;
        this.#options.onChanged({ revision: this.#revision, drafts: changed.map(asPublished), removed: dropped });
      }
      const inMemory = drafts.filter(draft => next.get(keyOf(draft))?.isMasked).map(nameOf);
      return { revision: this.#revision, inMemory, behind };
    });
  }

  /** Whether it has changed since the revision that its sender knows, or that is one of a daemon before this one. */
  #isBehind(name: Draft | DraftName, known: number | undefined): boolean {
    if (known === undefined) return false;
    return known > this.#revision || (this.#entries.get(keyOf(name))?.revision ?? 0) > known;
  }

  /** Drops the drafts of a removed repository: another one may get its id. */
  dropRepository(repo: string): void {
    const drop = async () => {
      // Includes drafts that were set just before.
      await this.idle();
      const names = this.list().flatMap(draft => (draft.repo === repo ? [nameOf(draft)] : []));
      if (names.length > 0) await this.change([], names);
    };
    drop().catch(error =>
      this.#report("could not remove the drafts of a removed repository; they are removed at the next start", error),
    );
  }

  /** The scopes changed: other fields may be masked now. */
  reinterpret(): void {
    const again = async () => {
      const drafts = [...this.#entries.values()];
      this.#entries = await this.#entriesOf(
        drafts.map(({ draft }) => draft),
        this.#entries,
      );
      await this.#write(this.#entries);
    };
    this.#lock(again).catch(error => this.#report("cannot write drafts.json", error));
  }

  /** Resolves when pending writes are finished. */
  async idle(): Promise<void> {
    await this.#lock(async () => {});
  }

  async #read(): Promise<void> {
    const { file, hasRepository } = this.#options;
    try {
      this.#written = (await this.#file.read())?.drafts ?? [];
      await file.makePrivate();
    } catch {
      const kept = `${file.path}.broken`;
      const message = `drafts.json is invalid and was renamed to ${kept}: unsaved edits of the screen that no open tab has are only there. Enter again what is missing.`;
      await this.#options.onFound({ message, kept });
      await rename(file.path, kept).catch(() => {});
      this.#written = undefined;
      return;
    }
    this.#entries = await this.#entriesOf(this.#written.filter(({ repo }) => hasRepository(repo)));
    // Removes drafts that are masked by now, or whose repository no longer exists, from the file.
    await this.#write(this.#entries).catch(error => this.#report("cannot write drafts.json", error));
  }

  async #write(entries: Entries): Promise<void> {
    const drafts = [...entries.values()].flatMap(({ draft, isMasked }) => (isMasked ? [] : [draft]));
    if (this.#written?.length === drafts.length && drafts.every((draft, at) => draft === this.#written?.[at])) return;
    // A failed write may leave the file in either state.
    this.#written = undefined;
    try {
      await this.#file.write({ drafts });
    } catch (error) {
      const cause = describeCause(error);
      throw new RepoconfError(1108, `The drafts could not be written to disk (${cause}); nothing was changed.`);
    }
    this.#written = drafts;
  }

  async #entriesOf(drafts: readonly Draft[], before: Entries = new Map()): Promise<Entries> {
    const entries = new Map<string, Entry>();
    for (const draft of drafts) entries.set(keyOf(draft), await this.#entryOf(draft, before.get(keyOf(draft))));
    return entries;
  }

  /** `before`: the same draft. What was masked in it stays so, whatever schemas say by now. */
  async #entryOf(draft: Draft, before?: Entry): Promise<Entry> {
    const isMasked = before?.isMasked === true || (await this.#holdsMasked(draft));
    const revision = before?.revision ?? this.#revision + 1;
    return { draft, isMasked, revision, bytes: jsonBytes(draft) };
  }

  async #holdsMasked(draft: Draft): Promise<boolean> {
    if ("field" in draft) return draft.masks !== undefined || this.#isMasked(draft.field);
    return (await this.#textHoldsMasked(draft.text)) || (await this.#textHoldsMasked(draft.base ?? "{}"));
  }

  /** Invalid JSON, for example while somebody types, may contain anything. */
  async #textHoldsMasked(text: string): Promise<boolean> {
    try {
      const { config = {} } = (await readJsonText(text)).value;
      if (!isJsonObject(config)) return true;
      return Object.entries(config).some(
        ([scope, fields]) =>
          !isJsonObject(fields) || Object.keys(fields).some(field => this.#isMasked(`${scope}.${field}`)),
      );
    } catch (error) {
      if (error instanceof JsonTextError) return true;
      throw error;
    }
  }

  /** As on the screen, a field without a schema counts as masked: its schema may be missing or broken. */
  #isMasked(path: string): boolean {
    const { scope, field } = splitConfigPath(path) ?? { scope: "", field: "" };
    const schema = this.#options.scopes.field(scope, field)?.schema;
    return schema === undefined || masksAnything(schema);
  }

  #report(message: string, error: unknown): void {
    this.#options.onProblem(message, { error: String(error) });
  }
}

/** Throws RepoconfError 1107. */
function assertFits(entries: Entries): void {
  if (entries.size > limits.drafts) throw limitExceeded("drafts", entries.size, limits.drafts);
  let bytes = 0;
  for (const entry of entries.values()) bytes += entry.bytes;
  if (bytes > limits.draftBytes) throw limitExceeded("bytes of drafts", bytes, limits.draftBytes);
}

function asPublished({ draft, isMasked }: Entry): KeptDraft {
  return isMasked ? { ...draft, inMemory: true } : draft;
}

function nameOf(name: Draft | DraftName): DraftName {
  return "field" in name && name.field !== undefined ? { repo: name.repo, field: name.field } : { repo: name.repo };
}

function keyOf(name: Draft | DraftName): string {
  return `${name.repo} ${nameOf(name).field ?? ""}`;
}

function parseDrafts(value: unknown): DraftsData {
  const schema = compileSchema(draftSchema);
  const isDraft = (draft: JsonValue) => schema.check(draft, new SpareSteps()).problems.length === 0;
  const drafts = isJsonObject(value) ? value["drafts"] : undefined;
  if (!Array.isArray(drafts) || !drafts.every(isDraft)) throw new SyntaxError(`it is not { "drafts": [...] }`);
  return { drafts };
}
