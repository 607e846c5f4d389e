import { join } from "node:path";
import { realFileSystem } from "../../main/files/file-system.ts";
import type { Committed, FollowedEntry } from "../../main/store/log/commit-log.ts";
import { parseStreamAddress } from "../../main/store/shared/stream/stream-address.ts";
import { StreamLog } from "../../main/store/shared/stream/stream-log.ts";
import { type Clock, systemClock } from "../../main/time/clock.ts";
import { type TestLog, testLog, timeoutOf } from "./commit-log-contract.ts";
import type { TestServer } from "./nats-server.ts";

/** The log of a home on a server's stream, opened and followed as at a start. */
export async function openStreamLog(
  server: Pick<TestServer, "url">,
  folder: string,
  {
    clock = systemClock as Clock,
    prepare = async (_committed: Committed<FollowedEntry>) => {},
    name = "test",
    replicas = undefined as number | undefined,
  } = {},
): Promise<TestLog> {
  const problems: string[] = [];
  const opened = await StreamLog.open({
    address: parseStreamAddress(`${server.url}/${name}`, replicas === undefined ? {} : { replicas }),
    machine: "laptop",
    folder: join(folder, "log"),
    temporaryFolder: folder,
    fileSystem: realFileSystem,
    clock,
    assertHeld: () => {},
    onProblem: message => void problems.push(message),
  });
  const test = testLog(opened, problems);
  const found: number[] = [];
  const follower = {
    prepare: async (committed: Committed<FollowedEntry>) => {
      await prepare(committed);
      const { entry } = committed;
      return () => void found.push(entry.kind === "commit" ? timeoutOf(entry) : Number.NaN);
    },
    onReachable: () => {},
    onProblems: () => {},
  };
  await opened.log.subscribe(follower);
  return { ...test, found };
}
