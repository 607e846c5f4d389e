import type { ConfigEdit } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";

/** The newest edit of each field that a file lacks and no revision records, because no active value changed. */
export class UnrecordedEdits {
  readonly #edits = new Map<string, ConfigEdit>();
  #list: readonly ConfigEdit[] | undefined;

  constructor(edits: readonly ConfigEdit[] = []) {
    this.commit(edits, []);
  }

  /** The edits in their order. */
  get list(): readonly ConfigEdit[] {
    this.#list ??= [...this.#edits.values()];
    return this.#list;
  }

  /** Updates the edits after a commit with these edits and changes of active values. */
  commit(edits: readonly ConfigEdit[], changes: readonly ConfigPath[]): void {
    if (edits.length === 0 && changes.length === 0) return;
    this.#list = undefined;
    // A field that is set again moves to the end.
    for (const path of [...edits, ...changes]) this.#edits.delete(joinConfigPath(path.scope, path.field));
    for (const edit of edits) this.#edits.set(joinConfigPath(edit.scope, edit.field), edit);
    for (const path of changes) this.#edits.delete(joinConfigPath(path.scope, path.field));
  }

  /** Drops edits that need not be recorded any more. */
  keep(isUnrecorded: (edit: ConfigEdit) => boolean): void {
    for (const [key, edit] of this.#edits) if (!isUnrecorded(edit)) this.#edits.delete(key);
    this.#list = undefined;
  }
}
