import { type ChildProcess, fork } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";
import { bundle } from "./bundled.ts";
import { connectClient, type TestClient } from "./daemon.ts";
import type { ClockStep, Death, DyingDaemonMessage } from "./dying-daemon.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Where the program of a test file's daemons is: a bundle of dying-daemon.ts. */
let folder: Awaited<ReturnType<typeof temporaryFolder>> | undefined;
let made: Promise<string> | undefined;
afterAll(async () => {
  made = undefined;
  await folder?.[Symbol.asyncDispose]();
});

function madeProgram(): Promise<string> {
  made ??= (async () => {
    folder = await temporaryFolder();
    return bundle("dying-daemon.ts", folder.path);
  })();
  return made;
}

/** A daemon in a separate process. */
export class DaemonProcess implements AsyncDisposable {
  readonly home: string;
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  private constructor(home: string, url: string, child: ChildProcess, ended: Promise<void>) {
    this.home = home;
    this.url = url;
    this.#child = child;
    this.#ended = ended;
  }

  static async start(home: string, given?: string): Promise<DaemonProcess> {
    const program = given ?? (await madeProgram());
    const child = fork(program, [home], {
      execArgv: [],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      // Beside the program, so that both are deleted together.
      env: { ...process.env, NODE_COMPILE_CACHE: join(dirname(program), "cache") },
    });
    let said = "";
    child.stderr?.on("data", part => {
      said = `${said}${part}`.slice(-2_000);
      process.stderr.write(part);
    });
    const ended = new Promise<void>(resolve => child.once("close", () => resolve()));
    const message = await Promise.race([nextMessage(child), ended]);
    if (message?.kind !== "ready")
      throw new Error(`the daemon ended with ${child.exitCode ?? child.signalCode}: ${said}`);
    return new DaemonProcess(home, message.url, child, ended);
  }

  async connect(): Promise<TestClient> {
    return connectClient(this.url, (await readFile(join(this.home, "owner.key"), "utf8")).trim());
  }

  /** Makes it die at this call, counted from now on. */
  async arm(death: Death): Promise<void> {
    const armed = nextMessage(this.#child);
    this.#child.send(death);
    await armed;
  }

  /** Sets its clock ahead of the system's, or behind it. */
  setClock(ahead: number): void {
    if (!this.isDead) this.#child.send({ ahead } satisfies ClockStep);
  }

  /** Suspends the process, as if its machine stood still, until `resume`. */
  pause(): void {
    this.#child.kill("SIGSTOP");
  }

  resume(): void {
    this.#child.kill("SIGCONT");
  }

  /** kill -9, unless it is dead already. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  /** A clean stop. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#ended;
  }

  get isDead(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}

function nextMessage(child: ChildProcess): Promise<DyingDaemonMessage> {
  return new Promise(resolve => child.once("message", (message: DyingDaemonMessage) => resolve(message)));
}
