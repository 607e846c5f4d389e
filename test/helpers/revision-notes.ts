import { expect } from "vitest";
import type { TestDaemon } from "./daemon.ts";

/** Records what each revision of a repository meant, across any number of daemons, and fails if one has two meanings. */
export class RevisionNotes {
  readonly #meanings = new Map<string, string>();
  #highest = 0;

  /** The highest revision recorded so far, of any repository. */
  get highest(): number {
    return this.#highest;
  }

  /** Records what a client reads now; returns the revision. */
  async note(t: TestDaemon, repo: string): Promise<number> {
    const { result, revision, errors } = await t.owner.call("config/list", { repo });
    expect(errors).toEqual([]);
    if (revision === undefined) throw new Error(`no revision of ${repo}`);
    const key = `${repo} at ${revision}`;
    const meaning = JSON.stringify(result);
    expect({ [key]: meaning }).toEqual({ [key]: this.#meanings.get(key) ?? meaning });
    this.#meanings.set(key, meaning);
    this.#highest = Math.max(this.#highest, revision);
    return revision;
  }

  /** Sets the timeout to each of these and records the result. */
  async set(t: TestDaemon, repo: string, ...timeouts: readonly number[]): Promise<void> {
    for (const timeout of timeouts) {
      const { errors } = await t.owner.call("config/set", { repo, "svc.timeout": timeout });
      expect(errors).toEqual([]);
      await this.note(t, repo);
    }
  }
}
