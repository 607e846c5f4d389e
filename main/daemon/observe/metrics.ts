import type { ChangeSource } from "../../../shared/protocol.ts";
import type { Yielding } from "../../time/yielding.ts";
import type { Connections } from "../socket/connections.ts";
import type { Problems } from "./problems.ts";
import type { Refusals } from "./refusals.ts";

/** Facts about the daemon, and what its current numbers are read from. */
export interface MetricsOptions {
  readonly version: string;
  readonly startedAt: Date;
  readonly connections: Pick<Connections, "count">;
  readonly store: { readonly repositories: { ids(): Iterable<string> } };
  readonly refusals: Pick<Refusals, "counts">;
  readonly yielding: Pick<Yielding, "yields">;
  readonly problems: Pick<Problems, "all">;
}

/** All causes, so that those that have not occurred are shown as 0 and alerts can be defined for them. */
const causes = ["host", "origin", "page", "key", "limit"] as const;
const sources: { readonly [Source in ChangeSource]: "sets" | "hand edits" | "merges" | "recoveries" } = {
  set: "sets",
  unset: "sets",
  restore: "sets",
  file: "hand edits",
  merge: "merges",
  recovery: "recoveries",
};

/** The numbers of `GET /metrics`, in Prometheus's text format. */
export class Metrics {
  readonly #options: MetricsOptions;
  readonly #changes = { sets: 0, "hand edits": 0, merges: 0, recoveries: 0 };
  readonly #errors = new Map<number, number>();

  constructor(options: MetricsOptions) {
    this.#options = options;
  }

  /** A repository has a new revision. */
  countChange(source: ChangeSource): void {
    this.#changes[sources[source]] += 1;
  }

  /** A request was answered with an error. */
  countError(code: number): void {
    this.#errors.set(code, (this.#errors.get(code) ?? 0) + 1);
  }

  /** Loads prom-client at the first request: most daemons never get one, and each start would wait for it. */
  async render(): Promise<{ readonly text: string; readonly type: string }> {
    const { Counter, Gauge, Registry } = await import("prom-client");
    // Not the package's registry, which everything in the process shares, such as the parts of the desktop app.
    const registry = new Registry();
    const registers = [registry];
    const gauge = (name: string, help: string, value: number) => new Gauge({ name, help, registers }).set(value);
    const counter = (name: string, help: string, value: number) => new Counter({ name, help, registers }).inc(value);
    const { version, startedAt, connections, store, refusals, yielding, problems } = this.#options;

    new Gauge({ name: "repoconf_info", help: "The running version.", labelNames: ["version"], registers }).set(
      { version },
      1,
    );
    gauge("repoconf_sockets", "Clients connected with a key.", connections.count);
    gauge("repoconf_repositories", "Repositories in the home.", [...store.repositories.ids()].length);
    gauge(
      "repoconf_problems",
      "Problems of the home as a whole, such as a shared log that is away.",
      problems.all.length,
    );
    const refused = new Counter({
      name: "repoconf_refusals_total",
      help: "Requests and connections rejected before they reached an operation, by cause.",
      labelNames: ["cause"],
      registers,
    });
    const { counts } = refusals;
    for (const cause of new Set([...causes, ...counts.keys()])) refused.inc({ cause }, counts.get(cause) ?? 0);
    const errors = new Counter({
      name: "repoconf_errors_total",
      help: "Errors in replies, by protocol error code.",
      labelNames: ["code"],
      registers,
    });
    for (const [code, count] of this.#errors) errors.inc({ code }, count);
    counter("repoconf_sets_total", "Revisions created by set, unset or restore.", this.#changes.sets);
    counter("repoconf_hand_edits_total", "Revisions created by hand edits of files.", this.#changes["hand edits"]);
    counter("repoconf_merges_total", "Hand edits that were merged with a concurrent set.", this.#changes.merges);
    counter(
      "repoconf_write_failures_total",
      "Changes that the disk, or the server of a shared log, refused (1108); none of them was kept.",
      this.#errors.get(1108) ?? 0,
    );
    counter("repoconf_yields_total", "Times that a long-running task yielded to other requests.", yielding.yields);
    const memory = process.memoryUsage();
    gauge("process_resident_memory_bytes", "Resident memory of the process.", memory.rss);
    gauge("nodejs_heap_size_used_bytes", "Memory used by JavaScript values.", memory.heapUsed);
    gauge("process_start_time_seconds", "When the daemon started, in seconds since 1970.", startedAt.getTime() / 1_000);
    return { text: await registry.metrics(), type: registry.contentType };
  }
}
