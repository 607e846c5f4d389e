import { RepoconfError } from "../../../shared/errors.ts";
import { type FileSystem, readFlags } from "../../files/file-system.ts";
import { readEndpoint } from "../../home/endpoint-file.ts";
import type { Home } from "../../home/home.ts";
import { type Lock, takeLock } from "../../home/lock.ts";
import { assertKnownFormat, HomeError, makeHomeFolder, prepareHome } from "../../home/prepare-home.ts";
import { completeRestore } from "../../home/restore.ts";

/** Another daemon is running on this home. */
export class HomeInUseError extends HomeError {}

/**
 * The home as this daemon opened it. If it is removed or replaced by a copy, another daemon can open the new one, so this one
 * must stop writing, and ends.
 */
export class HeldHome {
  readonly home: Home;
  readonly #lock: Lock;
  readonly #onLost: (message: string) => void;
  #lost: RepoconfError | undefined;

  private constructor(home: Home, lock: Lock, onLost: (message: string) => void) {
    this.home = home;
    this.#lock = lock;
    this.#onLost = onLost;
  }

  /**
   * Takes the home's lock and prepares the home, which is created if there is none. `onLost` is called once, with a sentence. Throws
   * HomeError or HomeInUseError.
   */
  static async open(
    home: Home,
    onProblem: (message: string, context: object) => void,
    onLost: (message: string) => void,
  ): Promise<HeldHome> {
    await assertKnownFormat(home);
    await makeHomeFolder(home);
    const lock = takeLock(home.lockFile);
    if (lock === undefined) throw await homeInUse(home);
    try {
      const before = await completeRestore(home);
      if (before !== undefined) onProblem("completed an interrupted restore", { before });
      await prepareHome(home);
    } catch (error) {
      lock.release();
      throw error;
    }
    return new HeldHome(home, lock, onLost);
  }

  release(): void {
    this.#lock.release();
  }

  /** Whether the home still belongs to this daemon. Makes a system call, which takes some microseconds. */
  check(): boolean {
    if (this.#lost === undefined && !this.#lock.isInPlace()) {
      const message = `The home ${this.home.folder} was removed or replaced while the daemon was running, so the daemon stops and writes nothing more. Reconnect: the next daemon uses the home as it is now.`;
      this.#lost = new RepoconfError(1113, message);
      this.#onLost(message);
    }
    return this.#lost === undefined;
  }

  /** Throws RepoconfError 1113 if the home does not belong to this daemon any more. */
  assertHeld(): void {
    this.check();
    this.assertNotLost();
  }

  /** Throws RepoconfError 1113 if an earlier check found it lost; does not check again. */
  assertNotLost(): void {
    if (this.#lost !== undefined) throw this.#lost;
  }

  /** The same calls, except that those that write fail with RepoconfError 1113 once the home is lost. */
  guard(fileSystem: FileSystem): FileSystem {
    return {
      open: async (path, flags, mode) => {
        if (flags !== "r" && flags !== readFlags) this.assertHeld();
        return fileSystem.open(path, flags, mode);
      },
      rename: async (from, to) => {
        this.assertHeld();
        return fileSystem.rename(from, to);
      },
      replace: async (temporary, path, assertUnchanged, aside) => {
        this.assertHeld();
        return fileSystem.replace(temporary, path, assertUnchanged, aside);
      },
      unlink: async path => {
        this.assertHeld();
        return fileSystem.unlink(path);
      },
      readNow: (path, length) => fileSystem.readNow(path, length),
      identityOf: folder => fileSystem.identityOf(folder),
      identityNow: folder => fileSystem.identityNow(folder),
    };
  }
}

async function homeInUse(home: Home): Promise<HomeInUseError> {
  const other = await readEndpoint(home);
  const who =
    other === undefined
      ? "another daemon that is starting or stopping"
      : `the daemon with pid ${other.pid} at ${other.url}`;
  return new HomeInUseError(
    `The home ${home.folder} is in use by ${who}. Use that daemon, stop it, or choose another home with --home.`,
  );
}
