/** A process that sets one field after another: `setting-process.ts HOME REPO FIELD...`; each to its own name. Sends those that were acknowledged. */
import { connect } from "../../main/client/client.ts";

const [home, repo = "", ...fields] = process.argv.slice(2);
using client = await connect({ ...(home !== undefined && { home }) });
const acknowledged: string[] = [];
for (const field of fields) {
  const { errors } = await client.request("config/set", { repo, [field]: field });
  if (errors.length === 0) acknowledged.push(field);
}
process.send?.(acknowledged, () => process.disconnect());
