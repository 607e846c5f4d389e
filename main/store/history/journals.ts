import { basename } from "node:path";
import { Yielding } from "../../time/yielding.ts";
import type { StoreContext } from "../context.ts";
import type { NewFinding } from "../types.ts";
import { Journal, type Retention } from "./journal.ts";
import { segmentsNamed } from "./segment.ts";

/** The journals of all repositories. */
export class Journals {
  readonly #context: StoreContext;
  readonly #yielding: Yielding;
  readonly #retention: () => Retention;
  /** Those of repositories that are not open, and of removed ones. */
  readonly #names: Map<string, string>;

  /** `names`: what `listSegmentNames` found, taken over. `retention`: how much of each repository's history is kept. */
  constructor(context: StoreContext, retention: () => Retention, names: Map<string, string>) {
    this.#context = context;
    this.#yielding = new Yielding(context.clock);
    this.#retention = retention;
    this.#names = names;
  }

  /** Whose histories there are, of those that are not open. */
  ids(): Iterable<string> {
    return this.#names.keys();
  }

  open(id: string): Journal {
    const { paths, fileSystem, clock, findings } = this.#context;
    const names = this.#names.get(id);
    const segments = names === undefined ? [] : segmentsNamed(names, paths.journal);
    this.#names.delete(id);
    const onDamage = (damage: NewFinding) => findings.add({ repo: id, ...damage });
    const shared = { folder: paths.journal, fileSystem, clock, yielding: this.#yielding, retention: this.#retention };
    return new Journal({ id, ...shared, onDamage }, segments);
  }

  /** Keeps the segments of a journal that is not used any more, for the next one of that repository. */
  keep(id: string, { segments }: Pick<Journal, "segments">): void {
    if (segments.length > 0) this.#names.set(id, segments.map(({ path }) => basename(path)).join("/"));
  }
}
