import type { ConfigEdit } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";

/** Edits that a file should have but lacks, and that no revision records, because no active value changed. For each field the newest. */
export class UnrecordedEdits {
  readonly #edits = new Map<string, ConfigEdit>();
  #list: readonly ConfigEdit[] | undefined;

  constructor(edits: readonly ConfigEdit[] = []) {
    this.commit(edits, []);
  }

  /** As they are now, in the order in which they came. */
  get list(): readonly ConfigEdit[] {
    this.#list ??= [...this.#edits.values()];
    return this.#list;
  }

  /** After a commit with these edits, and these changes in what is served. */
  commit(edits: readonly ConfigEdit[], changes: readonly ConfigPath[]): void {
    if (edits.length === 0 && changes.length === 0) return;
    this.#list = undefined;
    // A field that is set again moves to the end.
    for (const path of [...edits, ...changes]) this.#edits.delete(joinConfigPath(path.scope, path.field));
    for (const edit of edits) this.#edits.set(joinConfigPath(edit.scope, edit.field), edit);
    for (const path of changes) this.#edits.delete(joinConfigPath(path.scope, path.field));
  }

  /** Drops those that need not be recorded any more. */
  keep(isUnrecorded: (edit: ConfigEdit) => boolean): void {
    for (const [key, edit] of this.#edits) if (!isUnrecorded(edit)) this.#edits.delete(key);
    this.#list = undefined;
  }
}
