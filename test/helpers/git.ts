import { execFile } from "node:child_process";
import { devNull } from "node:os";
import { promisify } from "node:util";

/** Runs git in a folder, without the settings of this machine, and returns its output. Rejects if git fails. */
export async function git(folder: string, ...args: readonly string[]): Promise<string> {
  const settings = ["user.name=A", "user.email=a@example.test", "protocol.file.allow=always"];
  const env = { ...process.env, GIT_CONFIG_GLOBAL: devNull, GIT_CONFIG_NOSYSTEM: "1" };
  const options = settings.flatMap(setting => ["-c", setting]);
  return (await promisify(execFile)("git", [...options, ...args], { cwd: folder, env })).stdout;
}
