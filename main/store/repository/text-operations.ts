import { filterConfig } from "../../../shared/config.ts";
import type { FileText } from "../../../shared/protocol.ts";
import { ForeignEditError } from "../../files/json-document.ts";
import { formatJsonText } from "../../files/json-text.ts";
import type { HandEditReader } from "../hand-edits/hand-edit-reader.ts";
import { foreignEditTime, type MirrorFollower } from "../mirror/mirror-follower.ts";
import { storageFailure } from "../storage-failure.ts";
import { homeFileOf } from "./repository-files.ts";
import type { ServedState } from "./repository-state.ts";

/** Operations on the text of a repository's file. Call each inside the queue's `exclusive`. */
export class TextOperations {
  readonly #served: ServedState;
  readonly #reader: HandEditReader;
  readonly #follower: MirrorFollower;

  constructor(served: ServedState, reader: HandEditReader, follower: MirrorFollower) {
    this.#served = served;
    this.#reader = reader;
    this.#follower = follower;
  }

  /**
   * Rewrites name and path in the file of the home. Only that file must be valid: if an in-tree repository's folder was moved, the path
   * is what has to be fixed. Throws RepoconfError 1102, 1106 or 1108.
   */
  async changeMetadata(changes: { readonly name?: string; readonly path?: string }): Promise<void> {
    const { home } = this.#served.files;
    const end = this.#served.context.clock.monotonic() + foreignEditTime;
    await this.#follower.follow();
    await this.#served.mirror.inTurn(async () => {
      for (;;) {
        if (this.#reader.isRemoved || home.status.kind !== "good") throw this.#reader.notWritable();
        try {
          if (this.#served.files.values === home) await this.#served.mirror.beginReplacing();
          await home.write({ ...home.value, ...changes });
          if (this.#served.files.values === home) this.#reader.lateEdits.endLater();
          else await home.dropReplaced().catch(() => {});
          break;
        } catch (error) {
          if (!(error instanceof ForeignEditError) || this.#served.context.clock.monotonic() > end)
            throw storageFailure(this.#served.id, error);
          await this.#reader.refreshInTurn();
        }
      }
      // The path of an in-tree repository determines the file of its values.
      if (changes.path === undefined) this.#served.files.follow();
      else this.#served.files.chooseFolder();
      await this.#served.files.refresh();
      await this.#reader.applyExternalEdit();
    });
  }

  /**
   * Replaces the file that people edit, and applies the text like an edit by hand. Returns false if the file is not `expected` any
   * more. Throws RepoconfError 1102 or 1108.
   */
  async replace(text: string, expected: string | null): Promise<boolean> {
    if (this.#reader.isRemoved) throw this.#reader.notWritable();
    await this.#reader.refresh();
    await this.#follower.follow();
    return this.#served.mirror.inTurn(async () => {
      const document = this.#served.files.edited;
      if (document.text !== expected) return false;
      try {
        await this.#served.mirror.beginReplacing();
        await document.replaceText(text);
      } catch (error) {
        if (error instanceof ForeignEditError) return false;
        throw storageFailure(this.#served.id, error);
      }
      // The author knew the replaced text, and with it every set.
      this.#served.mirror.forgetRecentWrites();
      this.#reader.lateEdits.endLater();
      await this.#reader.refreshInTurn();
      return true;
    });
  }

  /** The text of the file that people edit, which has the committed values, as an editor must start from them. */
  async read(): Promise<FileText> {
    await this.#reader.requestRefresh();
    await this.#follower.follow();
    const { path, text } = this.#served.files.edited;
    return { file: path, text };
  }

  /**
   * Rewrites the file that people edit from the active values. Returns the path of a copy of the replaced file; undefined if there was
   * none. Throws RepoconfError 1102, 1106 or 1108.
   */
  async restore(): Promise<string | undefined> {
    if (this.#reader.isRemoved) throw this.#reader.notWritable();
    await this.#reader.refresh();
    return this.#served.mirror.inTurn(async () => {
      const { stored } = this.#served.current;
      const document = this.#served.files.edited;
      if (stored === undefined) throw this.#reader.notWritable();
      const config = filterConfig(stored, () => true);
      const { paths, removedFiles, fileSystem } = this.#served.context;
      const value = document === this.#served.files.tree ? { config } : homeFileOf(this.#served.current, config, paths);
      let kept: string | undefined;
      const keep = async () => {
        // A blocked rename is retried: the copy is from the last try.
        if (kept !== undefined) await fileSystem.unlink(kept);
        kept = await removedFiles.keep(`${this.#served.id}.broken`, document.path);
      };
      try {
        await document.dropReplaced();
        await document.overwriteText(formatJsonText(value), keep);
      } catch (error) {
        throw storageFailure(this.#served.id, error);
      }
      this.#served.mirror.forgetRecentWrites();
      await this.#reader.refreshInTurn();
      return kept;
    });
  }
}
