import { type ChildProcess, fork } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";
import { bundle } from "./bundled.ts";
import { connectClient } from "./daemon.ts";
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

export type DaemonProcess = Awaited<ReturnType<typeof startDaemonProcess>>;

/** A daemon in a separate process. `given`: its program, if not the bundle of this test file. */
export async function startDaemonProcess(home: string, given?: string) {
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
  const { url } = message;
  const isDead = () => child.exitCode !== null || child.signalCode !== null;
  const endBy = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await ended;
  };
  return {
    connect: async () => connectClient(url, (await readFile(join(home, "owner.key"), "utf8")).trim()),
    /** Makes it die at this call, counted from now on. */
    arm: async (death: Death) => {
      const armed = nextMessage(child);
      child.send(death);
      await armed;
    },
    /** Sets its clock ahead of the system's, or behind it. */
    setClock: (ahead: number) => {
      if (!isDead()) child.send({ ahead } satisfies ClockStep);
    },
    /** Suspends the process, as if its machine stood still, until `resume`. */
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    /** kill -9, unless it is dead already. */
    kill: () => endBy("SIGKILL"),
    /** A clean stop. */
    stop: () => endBy("SIGTERM"),
    get isDead() {
      return isDead();
    },
    [Symbol.asyncDispose]: () => endBy("SIGKILL"),
  };
}

function nextMessage(child: ChildProcess): Promise<DyingDaemonMessage> {
  return new Promise(resolve => child.once("message", (message: DyingDaemonMessage) => resolve(message)));
}
