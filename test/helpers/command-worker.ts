/**
 * A process that runs the built command again and again, each time as if it had been started for it: starting a process for each takes
 * ten times as long as most commands. Programs that a command starts get the arguments, folder and environment of the request too.
 */
import { subscribe } from "node:diagnostics_channel";
import { Socket } from "node:net";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import type { Finished } from "./spawned-daemon.ts";

export interface CommandRequest {
  /** The file of the command, and its arguments. */
  readonly command: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly input: string;
  /** Whether it takes its standard output for a terminal. */
  readonly isOnTerminal: boolean;
}

/** Thrown where the process would have ended, so that nothing after it runs. */
class Ended extends Error {}

const sockets = new Set<Socket>();
subscribe("net.client.socket", message => {
  if (typeof message !== "object" || message === null || !("socket" in message)) return;
  if (message.socket instanceof Socket) sockets.add(message.socket);
});

const printed = { output: "", errorOutput: "" };
let end = (_code: number) => {};
let count = 0;

capture(process.stdout, "output");
capture(process.stderr, "errorOutput");
const exit = process.exit.bind(process);
process.exit = code => {
  end(Number(code ?? process.exitCode ?? 0));
  throw new Ended();
};
for (const event of ["uncaughtException", "unhandledRejection"]) process.on(event, fail);
process.on("disconnect", () => exit());
process.on("message", (request: CommandRequest) => void run(request).then(finished => process.send?.(finished)));

async function run({ command, args, folder, environment, input, isOnTerminal }: CommandRequest): Promise<Finished> {
  Object.assign(printed, { output: "", errorOutput: "" });
  process.exitCode = undefined;
  process.chdir(folder);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
  Object.assign(process.stdout, { isTTY: isOnTerminal });
  process.argv = [process.execPath, command, ...args];
  Object.defineProperty(process, "stdin", { value: Readable.from([Buffer.from(input)]), configurable: true });
  const ended = new Promise<Finished>(resolve => {
    // Of what the command does after that, as on the way out of the failed call, nothing counts.
    end = code => resolve({ code, ...printed });
  });
  // Its own file is loaded anew each time, and calls what the first one has loaded.
  import(`${pathToFileURL(command).href}?${++count}`).catch(fail);
  const finished = await ended;
  // What the end of a process does.
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  process.stdout.removeAllListeners("error");
  return finished;
}

function capture(stream: NodeJS.WriteStream, name: keyof typeof printed): void {
  stream.write = (text: string | Uint8Array, ...rest: readonly unknown[]) => {
    printed[name] += typeof text === "string" ? text : Buffer.from(text).toString();
    const done = rest.at(-1);
    if (typeof done === "function") done();
    return true;
  };
}

/** As Node ends a process for an error that nobody caught. */
function fail(error: unknown): void {
  if (error instanceof Ended) return;
  printed.errorOutput += error instanceof Error ? error.stack : String(error);
  end(1);
}
