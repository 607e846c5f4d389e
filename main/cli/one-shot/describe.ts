import { type DescribeOptions, printFields } from "../commands/describe.ts";
import { askDaemon } from "./ask-daemon.ts";

/** `repoconf describe`. */
export async function describe([wanted]: readonly string[], options: DescribeOptions): Promise<boolean> {
  const reply = await askDaemon("scope/list", {}, options);
  if (reply === undefined || reply.errors.length > 0) return false;
  printFields(reply.result, wanted, options);
  return true;
}
