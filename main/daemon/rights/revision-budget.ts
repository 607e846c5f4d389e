import { configValue } from "../../../shared/config.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { Retention } from "../../store/history/journal.ts";
import type { RepositoryState } from "../../store/types.ts";
import type { Clock } from "../../time/clock.ts";
import type { Decision } from "../config/change-check.ts";
import type { Caller } from "../keys/caller.ts";
import { hiddenBytes, jsonBytes } from "../socket/measure.ts";

/** Milliseconds in which a key may make its share of revisions again. */
const refillTime = 60 * 60_000;
/** A key's share of what the history of a repository keeps, and the least that it is. */
const share = 10;
const leastShare: Retention = { revisions: 100, bytes: 1024 * 1024 };
/** From this many buckets on, full ones are dropped. */
const manyBuckets = 1_000;

interface Bucket {
  /** What is left of the share at the time `at`, by the clock's `monotonic()`. */
  revisions: number;
  bytes: number;
  at: number;
}

/** One request's part of what a key may add to histories. */
export interface RevisionClaim {
  /** Takes what the request would add in a repository, at most once for each. Returns RepoconfError 1107 if the key has added too much. */
  take(state: RepositoryState, decision: Decision): RepoconfError | undefined;
  /** No revision was made: gives everything back. */
  release(): void;
}

const unlimited: RevisionClaim = { take: () => undefined, release: () => {} };

/**
 * How many revisions a limited key may make: in each repository, a tenth of what its history keeps at once, and as many again in an
 * hour. So no key pushes the changes of others out of a history within less than nine hours. The owner has no limit.
 */
export class RevisionBudget {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #retention: () => Retention;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Pick<Clock, "monotonic">, retention: () => Retention) {
    this.#clock = clock;
    this.#retention = retention;
  }

  claim({ keyId, owner }: Caller): RevisionClaim {
    if (owner) return unlimited;
    const taken = new Map<string, number>();
    return {
      take: (state, decision) => {
        const { id: repo } = state;
        // It may be decided again, with another outcome.
        this.#give(keyId, repo, taken.get(repo));
        taken.delete(repo);
        if (decision.changed.size === 0) return undefined;
        const bytes = bytesOf(state, decision);
        const wait = this.#take(keyId, repo, bytes);
        if (wait === undefined) taken.set(repo, bytes);
        return wait === undefined ? undefined : tooMany(repo, wait);
      },
      release: () => {
        for (const [repo, bytes] of taken) this.#give(keyId, repo, bytes);
        taken.clear();
      },
    };
  }

  /** Takes as much for a proposal, which is a write too. Returns RepoconfError 1107 if the key has added too much. */
  takeProposal(
    { keyId, owner }: Pick<Caller, "keyId" | "owner">,
    repo: string,
    bytes: number,
  ): RepoconfError | undefined {
    const wait = owner ? undefined : this.#take(keyId, repo, bytes);
    return wait === undefined ? undefined : tooMany(repo, wait);
  }

  get #share(): Retention {
    const { revisions, bytes } = this.#retention();
    return {
      revisions: Math.max(leastShare.revisions, Math.floor(revisions / share)),
      bytes: Math.max(leastShare.bytes, Math.floor(bytes / share)),
    };
  }

  /** Undefined if it was taken, else in how many milliseconds it can be. */
  #take(keyId: string, repo: string, bytes: number): number | undefined {
    const whole = this.#share;
    const bucket = this.#bucketOf(`${keyId} ${repo}`, whole);
    // One that is larger than the share needs all of it.
    const needed = Math.min(bytes, whole.bytes);
    const missing = Math.max((1 - bucket.revisions) / whole.revisions, (needed - bucket.bytes) / whole.bytes);
    if (missing > 0) return Math.ceil(missing * refillTime);
    bucket.revisions -= 1;
    bucket.bytes -= needed;
    return undefined;
  }

  #give(keyId: string, repo: string, bytes: number | undefined): void {
    if (bytes === undefined) return;
    const whole = this.#share;
    const bucket = this.#bucketOf(`${keyId} ${repo}`, whole);
    bucket.revisions = Math.min(whole.revisions, bucket.revisions + 1);
    bucket.bytes = Math.min(whole.bytes, bucket.bytes + Math.min(bytes, whole.bytes));
  }

  #bucketOf(name: string, whole: Retention): Bucket {
    const now = this.#clock.monotonic();
    if (this.#buckets.size >= manyBuckets)
      for (const [other, { at }] of this.#buckets) if (now - at >= refillTime) this.#buckets.delete(other);
    const bucket = this.#buckets.get(name) ?? { ...whole, at: now };
    this.#buckets.set(name, bucket);
    const part = (now - bucket.at) / refillTime;
    bucket.revisions = Math.min(whole.revisions, bucket.revisions + part * whole.revisions);
    bucket.bytes = Math.min(whole.bytes, bucket.bytes + part * whole.bytes);
    bucket.at = now;
    return bucket;
  }
}

/** About as many as the history's record has, which contains each value before and after. */
function bytesOf({ stored = {} }: RepositoryState, { accepted, recorded }: Decision): number {
  return accepted.reduce((sum, edit) => {
    const { scope, field, value } = edit;
    // What the key may not see before it would show in what is left. It was counted as another one's value after.
    if (recorded.includes(edit)) return sum + 2 * hiddenBytes(value);
    return sum + jsonBytes(value) + jsonBytes(configValue(stored, scope, field));
  }, 0);
}

function tooMany(repo: string, wait: number): RepoconfError {
  const seconds = Math.ceil(wait / 1_000);
  const message = `This key has made as many changes of this repository as it may for now: more would push the changes of others out of its history. Retry in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`;
  return new RepoconfError(1107, message, { repo, details: { retryAfter: seconds } });
}
