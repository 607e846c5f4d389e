import { filterConfig } from "../../../shared/config.ts";
import { sameJson } from "../../../shared/json.ts";
import type { FileText } from "../../../shared/protocol.ts";
import { ForeignEditError } from "../../files/json-document.ts";
import { formatJsonText } from "../../files/json-text.ts";
import { homeFileOf, localFileOf, type MetadataChanges, withMetadata } from "../mirror/repository-metadata.ts";
import { keepAside } from "../removed-files.ts";
import type { RepositoryContext } from "../state/repository-context.ts";
import { storageFailure } from "../storage-failure.ts";
import { type FileReader, type FileWriter, foreignEditTime } from "./parts.ts";

/** Operations on the text of a repository's file. Call each inside the queue's `exclusive`. */
export class TextOperations {
  readonly #context: RepositoryContext;
  readonly #reader: FileReader;
  readonly #writer: FileWriter;

  constructor(context: RepositoryContext, reader: FileReader, writer: FileWriter) {
    this.#context = context;
    this.#reader = reader;
    this.#writer = writer;
  }

  /**
   * Rewrites name, path and `favourite` in the file of the home. Only that file must be valid: if an in-tree repository's folder was
   * moved, the path is what has to be fixed. Throws RepoconfError 1102, 1106 or 1108.
   */
  async changeMetadata(changes: MetadataChanges): Promise<void> {
    const { id, files, mirror, store } = this.#context;
    const { home } = files;
    const end = store.clock.monotonic() + foreignEditTime;
    await this.#writer.write();
    await mirror.locked(async () => {
      for (;;) {
        if (this.#reader.isRemoved || home.status.kind !== "good") throw this.#reader.notWritable();
        const changed = withMetadata(home.value, changes);
        // Unless somebody has just edited the file, it has all of it.
        if (sameJson(changed, home.value) && !(await files.isTouched())) break;
        try {
          if (files.values === home) await mirror.beginReplacing();
          await home.write(changed);
          if (files.values === home) this.#reader.lateEdits.endLater();
          else await home.dropReplaced().catch(() => {});
          break;
        } catch (error) {
          const isToRetry = error instanceof ForeignEditError && store.clock.monotonic() <= end;
          if (!isToRetry) throw storageFailure(id, error);
          await this.#reader.refreshLocked();
        }
      }
      // The path of an in-tree repository determines the file of its values.
      if (changes.path === undefined) files.openTarget();
      else files.chooseFolder();
      await files.refresh();
      await this.#reader.applyExternalEdit();
    });
  }

  /**
   * Replaces the file that people edit, and applies the text like an edit by hand. Returns false if the file is not `expected` any
   * more. Throws RepoconfError 1102 or 1108.
   */
  async replace(text: string, expected: string | null): Promise<boolean> {
    const { id, files, mirror } = this.#context;
    if (this.#reader.isRemoved) throw this.#reader.notWritable();
    await this.#reader.refresh();
    await this.#writer.write();
    return mirror.locked(async () => {
      const { edited, isFolderUnknown } = files;
      if (isFolderUnknown) throw this.#reader.notWritable();
      if (edited.text !== expected) return false;
      try {
        await mirror.beginReplacing();
        await edited.replaceText(text);
      } catch (error) {
        if (error instanceof ForeignEditError) return false;
        throw storageFailure(id, error);
      }
      // The author knew the replaced text, and with it every set.
      mirror.recentWrites.forget();
      this.#reader.lateEdits.endLater();
      await this.#reader.refreshLocked();
      return true;
    });
  }

  /** The text of the file that people edit, which has the committed values, as an editor must start from them. */
  async read(): Promise<FileText> {
    await this.#reader.requestRefresh();
    await this.#writer.write();
    const { path, text } = this.#context.files.edited;
    return { file: path, text };
  }

  /**
   * Rewrites the file that people edit from the active values. Returns the path of a copy of the replaced file; undefined if there was
   * none. Throws RepoconfError 1102, 1106 or 1108.
   */
  async restore(): Promise<string | undefined> {
    const { id, files, mirror, store, given } = this.#context;
    if (this.#reader.isRemoved) throw this.#reader.notWritable();
    await this.#reader.refresh();
    return mirror.locked(async () => {
      const { current } = this.#context;
      const { edited, isFolderUnknown, tree } = files;
      if (current.stored === undefined || isFolderUnknown) throw this.#reader.notWritable();
      const config = filterConfig(current.stored, () => true);
      const inHome = given.isLayer ? localFileOf(config, store.paths) : homeFileOf(current, config, store.paths);
      const value = edited === tree ? { config } : inHome;
      let kept: string | undefined;
      const keep = async () => {
        // A blocked rename is retried: the copy is from the last try.
        if (kept !== undefined) await store.fileSystem.unlink(kept);
        kept = await keepAside(store, `${id}.broken`, edited.path);
      };
      try {
        await edited.dropReplaced();
        await edited.overwriteText(formatJsonText(value), keep);
      } catch (error) {
        throw storageFailure(id, error);
      }
      mirror.recentWrites.forget();
      await this.#reader.refreshLocked();
      return kept;
    });
  }
}
