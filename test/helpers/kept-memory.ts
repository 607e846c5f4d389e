import { once } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { until } from "./daemon.ts";

/** Frees what this process no longer uses. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  collect();
}

/** The memory of a process started with `--inspect=0`, whose inspector's address is in what it has written to standard error. */
export async function openKeptMemory(errorOutput: () => string) {
  const address = () => /Debugger listening on (ws:\S+)/.exec(errorOutput())?.[1];
  await until(() => address() !== undefined, "the inspector's address");
  const socket = new WebSocket(address() ?? "");
  await once(socket, "open");
  const answers = new Map<number, (result: unknown) => void>();
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { readonly id?: number; readonly result?: unknown };
    if (id !== undefined) answers.get(id)?.(result);
  });
  let ids = 0;
  const ask = (method: string, params: object = {}) =>
    new Promise<unknown>(resolve => {
      answers.set(++ids, resolve);
      socket.send(JSON.stringify({ id: ids, method, params }));
    });
  const evaluate = async (expression: string) => {
    const answer = (await ask("Runtime.evaluate", { expression })) as { readonly result: { readonly value: number } };
    return answer.result.value;
  };
  return {
    /** Bytes of JavaScript values and buffers that are still referenced: all garbage is collected first. */
    read: async () => {
      // What a finalizer releases after the first collection is garbage for the second.
      for (let times = 0; times < 2; times++) await ask("HeapProfiler.collectGarbage");
      return evaluate("process.memoryUsage().heapUsed + process.memoryUsage().external");
    },
    /** Bytes reserved for new values, used or not. */
    readRoomForNew: () =>
      evaluate(
        `process.getBuiltinModule("node:v8").getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space").physical_space_size`,
      ),
    [Symbol.dispose]: () => socket.close(),
  };
}
