import { Yielding } from "../../time/yielding.ts";
import type { StoreContext } from "../context.ts";
import type { NewFinding } from "../types.ts";
import { Journal, type Retention } from "./journal.ts";
import type { Segment } from "./record.ts";

/** The journals of all repositories. */
export class Journals {
  readonly #context: StoreContext;
  readonly #yielding: Yielding;
  readonly #retention: () => Retention;
  /** The segments of repositories that are not open, and of removed ones. */
  readonly #segments: Map<string, readonly Segment[]>;

  /** `segments`: what `listSegments` found. `retention`: how much of each repository's history is kept. */
  constructor(context: StoreContext, retention: () => Retention, segments: ReadonlyMap<string, readonly Segment[]>) {
    this.#context = context;
    this.#yielding = new Yielding(context.clock);
    this.#retention = retention;
    this.#segments = new Map(segments);
  }

  /** Whose histories there are, of those that are not open. */
  ids(): Iterable<string> {
    return this.#segments.keys();
  }

  open(id: string): Journal {
    const { paths, fileSystem, clock, findings } = this.#context;
    const segments = this.#segments.get(id) ?? [];
    this.#segments.delete(id);
    const onDamage = (damage: NewFinding) => findings.add({ repo: id, ...damage });
    const shared = { folder: paths.journal, fileSystem, clock, yielding: this.#yielding, retention: this.#retention };
    return new Journal({ id, ...shared, onDamage }, segments);
  }

  /** Keeps the segments of a journal that is not used any more, for the next one of that repository. */
  keep(id: string, { segments }: Pick<Journal, "segments">): void {
    this.#segments.set(id, segments);
  }
}
