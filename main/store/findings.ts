import { randomBytes } from "node:crypto";
import { basename } from "node:path";
import pLimit from "p-limit";
import { type Config, type ConfigEdit, configValue } from "../../shared/config.ts";
import { isJsonObject, sameJson } from "../../shared/json.ts";
import type { Finding, HealthProblem } from "../../shared/protocol.ts";
import { repositoryOfDocument } from "../../shared/repository-id.ts";
import { DurableTextFile } from "../files/durable-text-file.ts";
import { JsonFile } from "../files/json-file.ts";
import { timeText } from "../time/clock.ts";
import { keepAside, type RemovedFilesContext } from "./removed-files.ts";
import type { NewFinding, StorePaths } from "./types.ts";

/** A finding that was dismissed stays, so that it is not told again when the same is found again. */
interface RecordedFinding extends Finding {
  readonly dismissed?: true;
  readonly until?: readonly ConfigEdit[];
}

interface FindingsData {
  readonly findings: readonly RecordedFinding[];
}

interface FindingsContext extends RemovedFilesContext {
  readonly paths: Pick<StorePaths, "findingsFile" | "temporary" | "removed">;
  onProblem(message: string, context: { readonly [name: string]: unknown }): void;
}

/** At most so many are told, and at most so many dismissed ones are remembered. */
const mostFindings = 100;
const more = "More was found than can be listed here: the daemon's log, daemon.log, has the rest.";

function jsonFile(file: DurableTextFile): JsonFile<FindingsData> {
  return new JsonFile(file, parse);
}

/** What a home's file says was found and not dismissed, for commands without a daemon. Throws what `JsonFile` throws. */
export async function readFindings(file: DurableTextFile): Promise<readonly Finding[]> {
  return toldOf(await recordedIn(jsonFile(file)));
}

async function recordedIn(file: JsonFile<FindingsData>): Promise<readonly RecordedFinding[]> {
  return (await file.read())?.findings ?? [];
}

/** Those that are not dismissed, as callers get them. */
function toldOf(findings: readonly RecordedFinding[]): readonly Finding[] {
  return findings
    .filter(({ dismissed }) => !dismissed)
    .map(({ until: _, ...told }) =>
      told.repo === undefined ? told : { ...told, repo: repositoryOfDocument(told.repo) },
    );
}

/**
 * What was found at a start or later and that a person should know, such as damage: told until they dismiss it, across restarts. The same
 * message about the same repository is told once, so it names what distinguishes two incidents: a file, revisions, a time.
 */
export class Findings {
  readonly #file: JsonFile<FindingsData>;
  readonly #context: FindingsContext;
  readonly #lock = pLimit(1);
  #entries: readonly RecordedFinding[];
  #saved: readonly RecordedFinding[];
  /** Called once something was found or dismissed, with the repository that it is about; undefined if it is about the whole home. */
  onChange: (repo: string | undefined) => void = () => {};

  private constructor(file: JsonFile<FindingsData>, context: FindingsContext, entries: readonly RecordedFinding[]) {
    this.#file = file;
    this.#context = context;
    this.#entries = entries;
    this.#saved = entries;
  }

  /** Does not throw: a file that cannot be used is kept aside, which is the first thing to tell. */
  static async open(context: FindingsContext): Promise<Findings> {
    const { paths, fileSystem, clock, onProblem } = context;
    const path = paths.findingsFile;
    const maximumBytes = 64 * 1024 * 1024;
    const place = { path, temporaryFolder: paths.temporary, mode: 0o600, maximumBytes };
    const file = jsonFile(new DurableTextFile({ ...place, fileSystem, clock }));
    try {
      return new Findings(file, context, await recordedIn(file));
    } catch (error) {
      onProblem("the list of what was found cannot be read", { path, error: String(error) });
      const findings = new Findings(file, context, []);
      const message =
        "The list of what Repoconf had found was damaged, and begins again. What it told before is also in daemon.log.";
      await findings.addDamaged(path, message);
      return findings;
    }
  }

  /** Those that are not dismissed, oldest first. */
  get all(): readonly Finding[] {
    return toldOf(this.#entries);
  }

  /** Those about a repository, as a part of its `health`. */
  healthOf(repo: string): readonly HealthProblem[] {
    if (this.#entries.length === 0) return [];
    const found = this.#entries.filter(one => one.repo !== undefined && repositoryOfDocument(one.repo) === repo);
    return toldOf(found).map(({ id, message }) => ({ code: 1116, message, finding: id }));
  }

  /**
   * Tells something until it is dismissed; nothing if it was told before. Resolves once it is on the disk, before which nothing may be
   * deleted or replaced that it is about. Does not throw: if it cannot be written, it is told until the daemon stops.
   */
  async add(finding: NewFinding): Promise<void> {
    const { isIncident, ...told } = finding;
    const { repo, message, kept } = told;
    const isSame = (one: RecordedFinding) => one.repo === repo && one.message === message;
    if (!this.#entries.some(one => isSame(one) && !(isIncident && one.dismissed))) {
      this.#context.onProblem(message, { ...(repo !== undefined && { repo }), ...(kept !== undefined && { kept }) });
      this.#change([...this.#entries, this.#numbered(told)], repo);
    }
    await this.saved();
  }

  /** Drops what is settled now that a repository has these values. */
  settle(repo: string, values: Config): void {
    const isSettled = (one: RecordedFinding) =>
      one.repo === repo &&
      one.until?.every(({ scope, field, value }) => sameJson(configValue(values, scope, field), value));
    const rest = this.#entries.filter(one => !isSettled(one));
    if (rest.length === this.#entries.length) return;
    this.#change(rest, repo);
    void this.saved();
  }

  /** Tells that a file of the home was found damaged, once a copy of it is kept. `message` says what was concluded. */
  async addDamaged(path: string, message: string): Promise<void> {
    const kept = await keepAside(this.#context, basename(path, ".json"), path).catch(() => undefined);
    if (kept === undefined) await this.add({ message });
    else await this.add({ message: `${message} The damaged file is kept in ${kept}.`, kept });
  }

  /** Dismisses one, durably. Returns whether there was one. Throws the system's error; then it is still told. */
  async dismiss(id: string): Promise<boolean> {
    const found = this.#entries.find(one => one.id === id && !one.dismissed);
    if (found === undefined) return false;
    const { message, repo } = found;
    // What was merged may be more the next time.
    const rest = this.#entries.filter(one => one.id !== id);
    this.#change(message === more ? rest : [...rest, { ...found, dismissed: true }], repo);
    try {
      await this.#save();
    } catch (error) {
      this.#change([...this.#entries.filter(one => one.id !== id), found], repo);
      throw error;
    }
    return true;
  }

  /** Forgets what was found about a repository that was removed. */
  async drop(repo: string): Promise<void> {
    if (!this.#entries.some(one => one.repo === repo)) return;
    this.#entries = this.#entries.filter(one => one.repo !== repo);
    await this.saved();
  }

  /** Resolves when everything is on the disk. Does not throw: a failed write is reported, and retried with the next one. */
  saved(): Promise<void> {
    return this.#save().catch(error =>
      this.#context.onProblem("cannot write the list of what was found", { error: String(error) }),
    );
  }

  #numbered(finding: Omit<RecordedFinding, "id" | "time">): RecordedFinding {
    return { id: randomBytes(3).toString("hex"), time: timeText(this.#context.clock), ...finding };
  }

  #change(entries: readonly RecordedFinding[], changed: string | undefined): void {
    const dismissed = entries.filter(one => one.dismissed).slice(-mostFindings);
    let told = entries.filter(one => !one.dismissed);
    const own = told.filter(({ message }) => message !== more);
    // Those about the whole home last.
    const [some, rest] = [own.filter(one => one.repo !== undefined), own.filter(one => one.repo === undefined)];
    const dropped = [...some, ...rest].slice(0, Math.max(0, own.length - mostFindings));
    if (dropped.length > 0) {
      const merged = told.find(one => one.message === more) ?? this.#numbered({ message: more });
      told = [merged, ...told.filter(one => one !== merged && !dropped.includes(one))];
    }
    this.#entries = [...dismissed, ...told];
    for (const repo of new Set([changed, ...dropped.map(one => one.repo)])) this.onChange(repo);
  }

  /** Writes one after the other, each with all changes so far. Throws the system's error. */
  #save(): Promise<void> {
    return this.#lock(async () => {
      const entries = this.#entries;
      if (this.#saved === entries) return;
      await this.#file.write({ findings: entries });
      this.#saved = entries;
    });
  }
}

function parse(value: unknown): FindingsData {
  const isText = (text: unknown) => typeof text === "string";
  const isFinding = (one: unknown) =>
    isJsonObject(one) &&
    [one["id"], one["time"], one["message"]].every(isText) &&
    [one["repo"], one["kept"]].every(text => text === undefined || isText(text)) &&
    (one["until"] === undefined || Array.isArray(one["until"]));
  const { findings } = isJsonObject(value) ? value : {};
  if (!Array.isArray(findings) || !findings.every(isFinding))
    throw new SyntaxError(`it is not { "findings": [ ... ] }`);
  // Every member that is used has been checked.
  return value as unknown as FindingsData;
}
