import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";
import { type Clock, systemClock } from "../time/clock.ts";
import { UnreadableFileError } from "./unreadable-file-error.ts";

/** The disk of a path does not answer, so nothing is known about the path. */
export class UnreachableDiskError extends UnreadableFileError {
  override readonly name = "UnreachableDiskError";
}

/** Milliseconds after which a disk that has not answered counts as not reachable. */
export const patience = 2_000;
/** Milliseconds by which the timer may be late. If it is later, this process stood still, and the disk may be fine. */
const tolerance = 500;

const usePool = promisify(randomBytes);

interface WaitingCall {
  readonly start: () => Promise<void>;
  readonly refuse: (error: UnreachableDiskError) => void;
}

interface Disk {
  readonly name: string;
  readonly waiting: WaitingCall[];
  isBusy: boolean;
  /** Its running call has not returned within `patience`. */
  isHung: boolean;
}

/**
 * Calls to the system about files that are not ours. Their disk may be a network disk that has stopped answering, and Node cannot take
 * back a call that hangs: it holds one of the few threads that all calls share. So each disk gets one call at a time, and all of them
 * together at most half of the threads. A disk that does not answer in time gets no further call until that one returns.
 */
export class ForeignDisks {
  readonly #slots: number;
  readonly #diskOf: (folder: string) => string;
  /** The disks with a running or waiting call, by name. */
  readonly #disks = new Map<string, Disk>();
  /** Disks with a waiting call and no running one, in the order in which they get a slot. */
  #ready: Disk[] = [];
  #running = 0;

  /** `diskOf` returns the name of a folder's disk, without asking the disk. */
  constructor(threads: number, diskOf: (folder: string) => string) {
    this.#slots = Math.max(1, Math.floor(threads / 2));
    this.#diskOf = diskOf;
  }

  /** Disks with a call that hangs. It also keeps the process from exiting, as Node waits for its threads. */
  get hung(): readonly string[] {
    return [...this.#disks.values()].filter(({ isHung }) => isHung).map(({ name }) => name);
  }

  /**
   * Runs `call`, which asks the disk of a folder, when it is its turn. Throws what `call` throws, or UnreachableDiskError if the disk
   * does not answer; then the call may still end later.
   */
  async ask<Result>(folder: string, call: () => Promise<Result>, clock: Clock = systemClock): Promise<Result> {
    const name = this.#diskOf(folder);
    const disk = this.#disks.get(name) ?? { name, waiting: [], isBusy: false, isHung: false };
    if (disk.isHung) throw unreachable([name]);
    if (this.hung.length >= this.#slots) throw unreachable(this.hung);
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const start = async () => {
      const endWatch = this.#watch(disk, clock, reject);
      await (async () => call())().then(resolve, reject);
      endWatch();
    };
    this.#disks.set(name, disk);
    disk.waiting.push({ start, refuse: reject });
    if (!disk.isBusy && disk.waiting.length === 1) this.#ready.push(disk);
    this.#startNext();
    return promise;
  }

  #startNext(): void {
    while (this.#running < this.#slots) {
      const disk = this.#ready.shift();
      const next = disk?.waiting.shift();
      if (disk === undefined || next === undefined) return;
      void this.#run(disk, next);
    }
  }

  async #run(disk: Disk, { start }: WaitingCall): Promise<void> {
    this.#running += 1;
    disk.isBusy = true;
    await start();
    this.#running -= 1;
    disk.isBusy = false;
    disk.isHung = false;
    if (disk.waiting.length > 0) this.#ready.push(disk);
    else this.#disks.delete(disk.name);
    this.#startNext();
  }

  /** Refuses the running call of a disk that does not answer, and all that wait for it. Returns a function that ends the watch. */
  #watch(disk: Disk, clock: Clock, refuse: (error: UnreachableDiskError) => void): () => void {
    let hasEnded = false;
    let cancel = () => {};
    const wait = () => {
      const due = clock.monotonic() + patience;
      const decide = async () => {
        // While every thread is busy with our own disk, nothing shows that this one does not answer.
        await usePool(1);
        if (hasEnded) return;
        if (clock.monotonic() > due + tolerance) return wait();
        disk.isHung = true;
        refuse(unreachable([disk.name]));
        for (const one of disk.waiting.splice(0)) one.refuse(unreachable([disk.name]));
        if (this.hung.length >= this.#slots) this.#refuseReady();
      };
      cancel = clock.schedule(patience, () => void decide());
    };
    wait();
    return () => {
      hasEnded = true;
      cancel();
    };
  }

  /** Refuses the waiting calls of all disks that wait for a slot, because calls that hang have all of them. */
  #refuseReady(): void {
    for (const { name, waiting } of this.#ready.splice(0)) {
      this.#disks.delete(name);
      for (const one of waiting.splice(0)) one.refuse(unreachable(this.hung));
    }
  }
}

function unreachable(names: readonly string[]): UnreachableDiskError {
  const who = names.length === 1 ? `${names[0]} has` : `${names.join(" and ")} have`;
  const message = `it cannot be reached: ${who} not answered for ${patience / 1000} seconds; it is read again when the disk answers`;
  return new UnreachableDiskError(message);
}

/** Milliseconds for which a table of mounts is used. */
const mountsAge = 1_000;
let mounts: { readonly at: number; readonly points: ReadonlySet<string> } | undefined;

/**
 * The name of a folder's disk: where it is mounted, by the system's table, which does not ask the disk. On the disk that the system or
 * the user's home is on, and without such a table, each folder counts as a disk of its own, as a link in it may lead to another one.
 */
function mountOf(folder: string): string {
  const full = resolve(folder);
  if (mounts === undefined || systemClock.monotonic() - mounts.at > mountsAge)
    mounts = { at: systemClock.monotonic(), points: readMounts() };
  const { points } = mounts;
  const pointOf = (path: string): string =>
    points.has(path) || dirname(path) === path ? path : pointOf(dirname(path));
  const point = pointOf(full);
  return dirname(point) === point || point === pointOf(homedir()) ? full : point;
}

function readMounts(): ReadonlySet<string> {
  try {
    const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
    return new Set(lines.flatMap(line => line.split(" ", 5)[4] ?? []).map(unescapeOctal));
  } catch {
    return new Set();
  }
}

function unescapeOctal(point: string): string {
  return point.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}

/** The only one of this process, because all calls share its threads. */
export const foreignDisks = new ForeignDisks(Number(process.env["UV_THREADPOOL_SIZE"]) || 4, mountOf);
