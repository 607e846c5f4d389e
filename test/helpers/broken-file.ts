import type { HealthProblem } from "../../shared/protocol.ts";
import { type TestDaemon, until } from "./daemon.ts";

/** Not JSON: the whole file is unusable. */
export const halfAFile = "{ half";

/** Replaces the repository's file with half a file, and waits until the daemon has detected it. */
export async function breakFile(t: TestDaemon, repo: string): Promise<void> {
  await t.writeRepository(repo, halfAFile);
  await untilHealth(t, repo, health => health.length > 0);
}

/** Waits until the owner sees the expected health of the repository's file. */
export async function untilHealth(
  t: TestDaemon,
  repo: string,
  isExpected: (health: readonly HealthProblem[]) => boolean,
): Promise<void> {
  await until(async () => {
    const { result } = await t.owner.call("repo/list", { limit: 1000 });
    return result.some(({ id, health }) => id === repo && isExpected(health));
  }, `the health of ${repo} to be as expected`);
}
