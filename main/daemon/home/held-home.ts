import { RepoconfError } from "../../../shared/errors.ts";
import { type FileSystem, readFlags } from "../../files/file-system.ts";
import type { Home } from "../../home/home.ts";
import type { Lock } from "../../home/lock.ts";

/**
 * The home as this daemon opened it. If it is removed or replaced by a copy, another daemon can open the new one, so this one
 * must stop writing, and ends.
 */
export class HeldHome {
  readonly #home: Home;
  readonly #lock: Lock;
  readonly #onLost: (message: string) => void;
  #lost: RepoconfError | undefined;

  /** `onLost` is called once. */
  constructor(home: Home, lock: Lock, onLost: (message: string) => void) {
    this.#home = home;
    this.#lock = lock;
    this.#onLost = onLost;
  }

  /** Whether the home still belongs to this daemon. Makes a system call, which takes some microseconds. */
  check(): boolean {
    if (this.#lost === undefined && !this.#lock.isInPlace()) {
      const message = `The home ${this.#home.folder} was removed or replaced while the daemon was running, so the daemon stops and writes nothing more. Reconnect: the next daemon uses the home as it is now.`;
      this.#lost = new RepoconfError(1113, message);
      this.#onLost(message);
    }
    return this.#lost === undefined;
  }

  /** Throws RepoconfError 1113 if an earlier check found it lost; does not check again. */
  assertNotLost(): void {
    if (this.#lost !== undefined) throw this.#lost;
  }

  /** The same calls, except that those that write fail with RepoconfError 1113 once the home is lost. */
  guard(fileSystem: FileSystem): FileSystem {
    const assertHeld = () => {
      if (!this.check()) this.assertNotLost();
    };
    return {
      open: async (path, flags, mode) => {
        if (flags !== "r" && flags !== readFlags) assertHeld();
        return fileSystem.open(path, flags, mode);
      },
      rename: async (from, to) => {
        assertHeld();
        return fileSystem.rename(from, to);
      },
      replace: async (temporary, path, assertUnchanged, aside) => {
        assertHeld();
        return fileSystem.replace(temporary, path, assertUnchanged, aside);
      },
      unlink: async path => {
        assertHeld();
        return fileSystem.unlink(path);
      },
      readNow: (path, length) => fileSystem.readNow(path, length),
      identityOf: folder => fileSystem.identityOf(folder),
      identityNow: folder => fileSystem.identityNow(folder),
    };
  }
}
