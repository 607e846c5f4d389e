import { setTimeout as delay } from "node:timers/promises";
import type { TestClient } from "./daemon.ts";
import { type DaemonProcess, startDaemonProcess } from "./daemon-process.ts";

export type Stage = Awaited<ReturnType<typeof startStage>>;

/** A daemon of this home, which can be killed and started again, and clients of it. */
export async function startStage(home: string) {
  let daemon = await firstStart(home);
  const clients: TestClient[] = [];
  let disturbances = 0;
  let restarted = Promise.resolve();
  return {
    home,
    /** Counts each beginning and end of a time without a running daemon. */
    get disturbances() {
      return disturbances;
    },
    /** Kills the daemon and starts another one, after earlier restarts; `meanwhile` runs while none is running. */
    restart: (meanwhile?: () => Promise<unknown>): Promise<void> => {
      restarted = restarted
        .catch(() => {})
        .then(async () => {
          disturbances += 1;
          await daemon.kill();
          await meanwhile?.();
          daemon = await startDaemonProcess(home);
          disturbances += 1;
        });
      return restarted;
    },
    pause: () => {
      disturbances += 1;
      daemon.pause();
    },
    resume: () => {
      disturbances += 1;
      daemon.resume();
    },
    setClock: (ahead: number) => daemon.setClock(ahead),
    /** Asks once, also while the log cannot be reached; undefined if no daemon answers. */
    ask: async <Answer>(question: (client: TestClient) => Promise<Answer>): Promise<Answer | undefined> => {
      const client = await daemon.connect().catch(() => undefined);
      if (client === undefined) return undefined;
      const answer = await question(client).catch(() => undefined);
      client.socket.close();
      return answer;
    },
    /** Retries until a daemon is running. */
    connect: async (): Promise<TestClient> => {
      for (;;) {
        const client = await daemon.connect().catch(() => undefined);
        // A daemon that has not reached its log reports a problem and serves the last values it knew.
        const status = await client?.call("daemon/status").catch(() => undefined);
        if (client !== undefined && status?.result.problems?.length === 0) {
          clients.push(client);
          return client;
        }
        client?.socket.close();
        await delay(5);
      }
    },
    [Symbol.asyncDispose]: async () => {
      for (const { socket } of clients) socket.close();
      await daemon.kill();
    },
  };
}

/** A start in an empty home needs the server of its log, which may be slow to answer on a busy machine: it is started again, as by a supervisor. */
async function firstStart(home: string): Promise<DaemonProcess> {
  for (let tries = 1; ; tries++) {
    try {
      return await startDaemonProcess(home);
    } catch (error) {
      if (tries === 10 || !/The shared log .* cannot be used: .*time/i.test(String(error))) throw error;
    }
  }
}
