import { linkSync, readFileSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { link, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { type FileSystem, realFileSystem } from "../../main/files/file-system.ts";
import type { Random } from "./random.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The identity of a file's content, whatever its name, like an inode on a disk. */
type Inode = number;

/** The change that a call makes on a disk. */
type Effect =
  | { readonly kind: "name"; readonly path: string; readonly inode: Inode | undefined; readonly from?: string }
  | { readonly kind: "write"; readonly inode: Inode; readonly content: Buffer; readonly position: number }
  | { readonly kind: "truncate"; readonly inode: Inode; readonly length: number };

/** A call that changes something, or makes changes durable. Times count the beginnings and ends of all calls. */
interface RecordedCall {
  readonly label: string;
  /** The label without its random part, and the index of this call among those with that label. */
  readonly what: string;
  readonly begin: number;
  end: number;
  readonly effect?: Effect;
  /** The inode whose content, or the folder whose entries, are durable when this call has ended. */
  readonly syncs?: Inode | string;
}

/** A state of the home that a power loss may leave. */
export interface LossState {
  readonly label: string;
  /** Whether the reply was sent before. */
  readonly isAcknowledged: boolean;
  /** Inodes by path in the home. */
  readonly files: ReadonlyMap<string, Inode>;
  readonly contents: ReadonlyMap<Inode, Buffer>;
  /** A description of what was done to each content: equal in all records of the same calls, though times and hashes differ. */
  readonly done: ReadonlyMap<Inode, string>;
}

/** Records every call under durable writes, with contents, and builds disks that have lost what a disk may lose. */
export class PowerLoss {
  readonly fileSystem: FileSystem;
  readonly #home: string;
  readonly #calls: RecordedCall[] = [];
  #time = 0;
  #acknowledgedAt = Number.POSITIVE_INFINITY;
  #recording = false;
  #nextInode = 1;
  /** The current names. */
  #names = new Map<string, Inode>();
  #firstNames: ReadonlyMap<string, Inode> = new Map();
  readonly #firstContents = new Map<Inode, Buffer>();
  /** Keeps files of the home under a second name, so that a state can contain the identical files. */
  #vault: { readonly path: string } | undefined;
  readonly #kept = new Map<Inode, { readonly path: string; readonly content: Buffer }>();

  /** `under`: the file system to call, if not the real one. */
  constructor(home: string, under: FileSystem = realFileSystem) {
    this.#home = home;
    this.fileSystem = {
      readNow: under.readNow,
      identityOf: under.identityOf,
      identityNow: under.identityNow,
      open: async (path, flags, mode) => {
        const name = this.#nameOf(String(path));
        const isNew = typeof flags === "string" && flags.includes("w") && !this.#names.has(name);
        // Assigned before the wait, so that two files created in parallel get different inodes.
        const inode = this.#names.get(name) ?? this.#nextInode++;
        const effect: Effect | undefined = isNew ? { kind: "name", path: name, inode } : undefined;
        const handle = await this.#run(`open ${name}`, { ...(effect && { effect }) }, () =>
          under.open(path, flags, mode),
        );
        if (isNew) this.#names.set(name, inode);
        return this.#watchHandle(handle, name, inode);
      },
      rename: (from, to) => this.#move(String(from), String(to), () => under.rename(from, to)),
      replace: (from, to, ...more) => this.#move(from, to, () => under.replace(from, to, ...more)),
      unlink: async path => {
        const name = this.#nameOf(String(path));
        const effect: Effect = { kind: "name", path: name, inode: undefined };
        await this.#run(`unlink ${name}`, { effect }, () => under.unlink(path));
        this.#names.delete(name);
      },
    };
  }

  /** The home is durable as it is now; what happens from now on is not, until it is synced. */
  async begin(): Promise<AsyncDisposable> {
    const vault = await temporaryFolder();
    this.#vault = vault;
    this.#names = new Map();
    for (const entry of await readdir(this.#home, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || /^(lock|daemon\.json)/.test(entry.name)) continue;
      const path = join(entry.parentPath, entry.name);
      const inode = this.#nextInode++;
      this.#names.set(this.#nameOf(path), inode);
      this.#firstContents.set(inode, await readFile(path));
      this.#keep(inode, path);
    }
    this.#firstNames = new Map(this.#names);
    this.#recording = true;
    return vault;
  }

  end(): void {
    this.#recording = false;
  }

  /**
   * Every state that a power loss at any moment may leave, each once: with any subset of the changes that are not durable left
   * out. With more than `most` such changes at a moment: all single ones and random sets. `seen` contains the known states from
   * other records of the same calls, and is added to.
   */
  *states(random: Random, most = 6, seen = new Set<string>()): Generator<LossState> {
    for (let time = 0; time <= this.#time; time++) {
      const begun = this.#calls.filter(call => call.begin < time && call.effect !== undefined);
      const unsure = begun.filter(call => !this.#isSure(call, time));
      for (const left of leftOut(unsure, random, most)) {
        // A write that is not durable may also be partially on the disk.
        for (const torn of [undefined, ...unsure.filter(({ effect }) => effect?.kind === "write")]) {
          if (torn !== undefined && left.has(torn)) continue;
          const state = this.#build(
            begun.filter(call => !left.has(call)),
            torn,
            time,
            [...left].map(({ label }) => label),
          );
          // With equal states, the later moment is stricter: what was acknowledged by then must be there.
          const fingerprint = `${fingerprintOf(state)}${state.isAcknowledged}`;
          if (seen.has(fingerprint)) continue;
          seen.add(fingerprint);
          yield state;
        }
      }
    }
  }

  /** Records that a client has its reply; from here on, only the new state is valid. */
  acknowledge(): void {
    this.#acknowledgedAt = this.#time;
  }

  /** Creates a home in this state. */
  async make(state: LossState): Promise<AsyncDisposable & { readonly path: string }> {
    const home = await temporaryFolder();
    for (const folder of ["repos", "journal", "log", "tmp", "removed", "scopes"])
      await mkdir(join(home.path, folder), { mode: 0o700 });
    await this.place(state, home.path);
    return home;
  }

  /**
   * Puts the files of this state into a folder that has their folders: the recorded files, inode for inode. Log and journal are
   * appended to in the meantime, so their content is written back.
   */
  async place({ files, contents }: LossState, folder: string): Promise<void> {
    for (const [name, inode] of files) {
      const content = contents.get(inode) ?? Buffer.alloc(0);
      const target = join(folder, name);
      const kept = this.#kept.get(inode);
      const isAppendedTo = /(^|\/)(journal|log)\//.test(name);
      const isKept = kept !== undefined && (isAppendedTo || kept.content.equals(content));
      if (isKept) await link(kept.path, target);
      if (!isKept || isAppendedTo) await writeFile(target, content, { mode: 0o600 });
    }
  }

  async #move(from: string, to: string, real: () => Promise<void>): Promise<void> {
    const [before, after] = [this.#nameOf(from), this.#nameOf(to)];
    const inode = this.#names.get(before);
    this.#keep(inode, from);
    await this.#run(`rename ${before}`, { effect: { kind: "name", path: after, inode, from: before } }, real);
    this.#names.delete(before);
    if (inode !== undefined) this.#names.set(after, inode);
  }

  #nameOf(path: string): string {
    return relative(this.#home, path);
  }

  /** Synchronous, so that the following rename begins as soon as the program calls it. */
  #keep(inode: Inode | undefined, path: string): void {
    if (this.#vault === undefined || inode === undefined || this.#kept.has(inode)) return;
    const target = join(this.#vault.path, String(inode));
    this.#kept.set(inode, { path: target, content: readFileSync(path) });
    linkSync(path, target);
  }

  async #run<Result>(
    label: string,
    does: Pick<RecordedCall, "effect" | "syncs">,
    real: () => Promise<Result>,
  ): Promise<Result> {
    if (!this.#recording) return real();
    const steady = steadyName(label);
    const count = this.#calls.filter(call => steadyName(call.label) === steady).length;
    const what = `${steady} ${count}`;
    const call: RecordedCall = { label, what, begin: this.#time++, end: Number.POSITIVE_INFINITY, ...does };
    this.#calls.push(call);
    try {
      const result = await real();
      call.end = this.#time++;
      return result;
    } catch (error) {
      // It changed nothing.
      this.#calls.splice(this.#calls.indexOf(call), 1);
      throw error;
    }
  }

  #watchHandle(handle: FileHandle, name: string, opened: Inode): FileHandle {
    const isFolder = !this.#names.has(name);
    const effectOf = (operation: string, args: readonly unknown[]): Effect | undefined => {
      const [first, , , position] = args;
      const inode = inodeNow();
      if (operation === "writeFile")
        return { kind: "write", inode, content: Buffer.from(first as string | Buffer), position: 0 };
      if (operation === "write") return { kind: "write", inode, content: takenOf(args), position: Number(position) };
      if (operation === "truncate") return { kind: "truncate", inode, length: Number(first) };
      return undefined;
    };
    // A file opened before the record began has a different number in it.
    const inodeNow = () => this.#names.get(name) ?? opened;
    return new Proxy(handle, {
      get: (target, property) => {
        const member: unknown = Reflect.get(target, property);
        if (typeof member !== "function") return member;
        const operation = String(property);
        return (...args: unknown[]) => {
          const real = async () => member.apply(target, args);
          if (operation === "sync" || operation === "datasync")
            return this.#run(`${operation} ${name}`, { syncs: isFolder ? name : inodeNow() }, real);
          const effect = effectOf(operation, args);
          return effect === undefined ? real() : this.#run(`${operation} ${name}`, { effect }, real);
        };
      },
    });
  }

  /** Whether a sync covers the change: one that began after the change had ended, and has itself ended by then. */
  #isSure({ effect, end }: RecordedCall, time: number): boolean {
    const covers = ({ syncs }: RecordedCall) =>
      syncs !== undefined && (effect?.kind === "name" ? syncs === dirname(effect.path) : syncs === effect?.inode);
    return this.#calls.some(call => covers(call) && call.begin > end && call.end < time);
  }

  #build(calls: readonly RecordedCall[], torn: RecordedCall | undefined, time: number, left: string[]): LossState {
    const files = new Map(this.#firstNames);
    const contents = new Map(this.#firstContents);
    const done = new Map([...files].map(([name, inode]) => [inode, name]));
    for (const call of calls) {
      const { effect } = call;
      if (effect !== undefined && effect.inode !== undefined && !(effect.kind === "name" && effect.from !== undefined))
        done.set(effect.inode, `${done.get(effect.inode) ?? ""} ${call === torn ? "half of " : ""}${call.what}`);
      if (effect?.kind === "name") {
        if (effect.from !== undefined) files.delete(effect.from);
        if (effect.inode === undefined) files.delete(effect.path);
        else files.set(effect.path, effect.inode);
      } else if (effect?.kind === "write") {
        const content = call === torn ? effect.content.subarray(0, effect.content.length / 2) : effect.content;
        const before = contents.get(effect.inode) ?? Buffer.alloc(0);
        const whole = Buffer.alloc(Math.max(before.length, effect.position + content.length));
        before.copy(whole);
        content.copy(whole, effect.position);
        contents.set(effect.inode, whole);
      } else if (effect?.kind === "truncate") {
        contents.set(effect.inode, (contents.get(effect.inode) ?? Buffer.alloc(0)).subarray(0, effect.length));
      }
    }
    const without = left.length === 0 ? "" : `, without ${left.join(", ")}`;
    const half = torn === undefined ? "" : `, half of ${torn.label}`;
    const last = this.#calls.findLast(({ begin }) => begin < time)?.label ?? "nothing";
    const isAcknowledged = time >= this.#acknowledgedAt;
    return { label: `at ${time} (${last})${without}${half}`, isAcknowledged, files, contents, done };
  }
}

/** The bytes passed to a write. */
function takenOf([bytes, offset = 0, length]: readonly unknown[]): Buffer {
  const start = Number(offset);
  const whole = Buffer.from(bytes as Buffer);
  return whole.subarray(start, length === undefined ? whole.length : start + Number(length));
}

/** The sets of calls to leave out: all subsets if there are few calls, else none, each, all, and random sets. */
function* leftOut(unsure: readonly RecordedCall[], random: Random, most: number): Generator<ReadonlySet<RecordedCall>> {
  if (unsure.length <= most) {
    for (let bits = 0; bits < 2 ** unsure.length; bits++)
      yield new Set(unsure.filter((_, index) => bits & (1 << index)));
    return;
  }
  yield new Set();
  yield new Set(unsure);
  for (const call of unsure) yield new Set([call]);
  for (let count = 0; count < 2 ** most; count++) yield new Set(unsure.filter(() => random(2) === 0));
}

/** All names, each with the history of its content. */
function fingerprintOf({ files, done }: LossState): string {
  return [...files]
    .map(([name, inode]) => `${steadyName(name)}: ${done.get(inode)}\n`)
    .sort()
    .join("");
}

/** A temporary file's name without its random part. */
function steadyName(name: string): string {
  return name.replace(/\.[0-9a-f]{12}\.tmp$/, ".tmp");
}
