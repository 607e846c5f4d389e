/**
 * A process that sets fields one after another, each to its own name: `setting-process.ts HOME REPO PARTS FIELD...`. It waits for
 * a message between two parts. Sends the acknowledged fields.
 */
import { once } from "node:events";
import { connect } from "./patient-client.ts";

const [home, repo = "", parts = "1", ...fields] = process.argv.slice(2);
const length = Math.ceil(fields.length / Number(parts));
using client = await connect({ ...(home !== undefined && { home }) });
const acknowledged: string[] = [];
let next = once(process, "message");
for (const [index, field] of fields.entries()) {
  if (index > 0 && index % length === 0) {
    await next;
    next = once(process, "message");
  }
  const { errors } = await client.request("config/set", { repo, [field]: field });
  if (errors.length === 0) acknowledged.push(field);
}
process.send?.(acknowledged, () => process.disconnect());
