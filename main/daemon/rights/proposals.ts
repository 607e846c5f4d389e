import { randomBytes } from "node:crypto";
import { rename } from "node:fs/promises";
import pLimit from "p-limit";
import { limitExceeded, RepoconfError, toRepoconfError } from "../../../shared/errors.ts";
import { isJsonObject, type JsonValue, sameJson } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import { describeCause } from "../../files/describe-cause.ts";
import type { DurableTextFile } from "../../files/durable-text-file.ts";
import type { FileSystem } from "../../files/file-system.ts";
import { JsonFile } from "../../files/json-file.ts";
import type { Home } from "../../home/home.ts";
import { privateFile } from "../../home/prepare-home.ts";
import type { Store } from "../../store/store.ts";
import { type Clock, timeText } from "../../time/clock.ts";
import type { Keys } from "../keys/keys.ts";
import type { Connections } from "../socket/connections.ts";
import { hiddenBytes, jsonBytes } from "../socket/measure.ts";

/** What a key would set that may only propose it. */
export interface NewProposal {
  readonly repo: string;
  /** `<scope>.<field>`. */
  readonly field: string;
  /** Where it belongs, if that is not the shared layer. */
  readonly layer?: "local";
  /** Absent to unset the field. */
  readonly value?: JsonValue;
  readonly reason?: string;
  /** The value comes from the history, and not from the key. */
  readonly restored?: true;
}

export interface Proposal extends NewProposal {
  readonly id: string;
  /** The key, by its id and by its name at that time. */
  readonly key: string;
  readonly by: string;
  /** RFC 3339, UTC. */
  readonly time: string;
}

interface ProposalsOptions {
  readonly home: Home;
  readonly fileSystem: FileSystem;
  readonly clock: Pick<Clock, "now">;
  readonly store: Pick<Store, "repositories" | "findings">;
  readonly keys: Pick<Keys, "list">;
  readonly connections: Pick<Connections, "publishProposals">;
  onProblem(message: string, context: object): void;
}

/**
 * Values of commands and variables that keys without the right `commands` propose. They are in a file of their own, outside of the log and
 * the repositories' files, so nothing takes them for values. A key has at most one for each field of a layer.
 */
export class Proposals {
  readonly #options: ProposalsOptions;
  readonly #file: JsonFile<{ readonly proposals: readonly Proposal[] }>;
  /** Runs one change at a time: each is on disk before anybody sees it. */
  readonly #lock = pLimit(1);
  #all: readonly Proposal[] = [];

  private constructor(options: ProposalsOptions, file: DurableTextFile) {
    this.#options = options;
    this.#file = new JsonFile(file, parseProposals);
  }

  /** Reads the proposals. An invalid file is renamed to proposals.json.broken. */
  static async open(options: ProposalsOptions): Promise<Proposals> {
    const { home, fileSystem, store, keys } = options;
    const file = privateFile(home, home.proposalsFile, fileSystem);
    const proposals = new Proposals(options, file);
    try {
      proposals.#all = (await proposals.#file.read())?.proposals ?? [];
      await file.makePrivate();
    } catch {
      const kept = `${file.path}.broken`;
      await store.findings.add({
        message: `proposals.json is invalid and was renamed to ${kept}. Keys must propose again.`,
        kept,
      });
      await rename(file.path, kept).catch(() => {});
    }
    const known = new Set(keys.list().map(({ id }) => id));
    proposals.#drop(({ key, repo }) => !known.has(key) || !store.repositories.has(repo));
    return proposals;
  }

  /** The oldest first. */
  list(): readonly Proposal[] {
    return this.#all;
  }

  /**
   * Keeps proposals of a key, each instead of its earlier one for the field: for each the proposal, or RepoconfError 1107 or 1108. `take`
   * says whether the key may make one more in the repository, of so many bytes.
   */
  put(
    { keyId, name }: { readonly keyId: string; readonly name: string },
    wanted: readonly NewProposal[],
    take: (repo: string, bytes: number) => RepoconfError | undefined,
  ): Promise<readonly (Proposal | RepoconfError)[]> {
    return this.#lock(async () => {
      let all = this.#all;
      const made = wanted.map(one => {
        const isSame = ({ key, repo, field, layer }: Proposal) =>
          key === keyId && repo === one.repo && field === one.field && layer === one.layer;
        const known = all.find(isSame);
        // Whether a value of the history is the one that it proposed already is not for it to know.
        if (known !== undefined && !one.restored && isAlike(known, one)) return known;
        const { id } = known ?? { id: randomBytes(6).toString("hex") };
        const made = { ...one, id, key: keyId, by: name, time: timeText(this.#options.clock) };
        const next = [...all.filter(other => !isSame(other)), made];
        const problem = problemOf(next.filter(({ key }) => key === keyId)) ?? take(one.repo, bytesOf(made));
        if (problem !== undefined) return problem.inRepository(one.repo);
        all = next;
        return made;
      });
      try {
        await this.#write(all, [keyId]);
      } catch (error) {
        return made.map(() => toRepoconfError(error));
      }
      return made;
    });
  }

  /** Throws RepoconfError 1108, and 1112 if there is none with this id. */
  remove(id: string): Promise<void> {
    return this.#lock(async () => {
      const found = this.#all.find(one => one.id === id);
      if (found === undefined) throw noProposal(id);
      await this.#write(
        this.#all.filter(one => one !== found),
        [found.key],
      );
    });
  }

  /** The key has ended. */
  dropKey(id: string): void {
    this.#drop(({ key }) => key === id);
  }

  /** Another repository may get its id. */
  dropRepository(id: string): void {
    this.#drop(({ repo }) => repo === id);
  }

  /** Resolves when pending writes are finished. */
  async idle(): Promise<void> {
    await this.#lock(async () => {});
  }

  #drop(isDropped: (proposal: Proposal) => boolean): void {
    const drop = async () => {
      const dropped = this.#all.filter(isDropped);
      if (dropped.length === 0) return;
      const kept = this.#all.filter(one => !isDropped(one));
      await this.#write(kept, new Set(dropped.map(({ key }) => key)));
    };
    this.#lock(drop).catch(error =>
      this.#options.onProblem("could not remove proposals; they are removed at the next start", {
        error: String(error),
      }),
    );
  }

  async #write(all: readonly Proposal[], keys: Iterable<string>): Promise<void> {
    if (all === this.#all) return;
    try {
      await this.#file.write({ proposals: all });
    } catch (error) {
      const cause = describeCause(error);
      throw new RepoconfError(1108, `The proposals could not be written to disk (${cause}); nothing was changed.`);
    }
    this.#all = all;
    for (const key of keys) this.#options.connections.publishProposals(key);
  }
}

export function noProposal(id: string): RepoconfError {
  return new RepoconfError(1112, `There is no proposal with the id "${id}". To list all proposals: proposal/list.`);
}

/** Whether they differ in their reasons at most. */
function isAlike(one: NewProposal, other: NewProposal): boolean {
  const comparable = ({ value, restored }: NewProposal) => [value === undefined, value ?? null, restored === true];
  return sameJson(comparable(one), comparable(other));
}

/** Proposals are never changed. */
const sizes = new WeakMap<Proposal, number>();

function bytesOf(proposal: Proposal): number {
  const known = sizes.get(proposal);
  if (known !== undefined) return known;
  const { value, ...rest } = proposal;
  const bytes = jsonBytes(rest) + (proposal.restored ? hiddenBytes(value) : jsonBytes(value));
  sizes.set(proposal, bytes);
  return bytes;
}

/** Whether a key has more proposals than it may. */
function problemOf(own: readonly Proposal[]): RepoconfError | undefined {
  if (own.length > limits.proposalsPerKey)
    return limitExceeded("proposals of a key", own.length, limits.proposalsPerKey);
  const bytes = own.reduce((sum, proposal) => sum + bytesOf(proposal), 0);
  if (bytes <= limits.proposalBytesPerKey) return undefined;
  return limitExceeded("bytes in a key's proposals", bytes, limits.proposalBytesPerKey);
}

function parseProposals(value: unknown): { readonly proposals: readonly Proposal[] } {
  const proposals = isJsonObject(value) ? value["proposals"] : undefined;
  const texts = ["id", "repo", "field", "key", "by", "time"];
  const isProposal = (one: JsonValue) => isJsonObject(one) && texts.every(member => typeof one[member] === "string");
  if (!Array.isArray(proposals) || !proposals.every(isProposal))
    throw new SyntaxError(`it is not { "proposals": [...] }`);
  // The members that decide anything were checked; values are checked when one is accepted.
  return { proposals: proposals as unknown as Proposal[] };
}
