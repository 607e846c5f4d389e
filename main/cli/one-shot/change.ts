import { readAssignment, type TypedChange } from "../../../shared/typed-changes.ts";
import type { ChangeValuesOptions } from "../change/change-values.ts";
import { changeArguments, printChangeJson, printChanges, throwRefusal, warnOfSecrets } from "../output/changes.ts";
import { askAbout, fieldsOf } from "./ask-daemon.ts";

/** `repoconf set`. */
export async function set(typed: readonly string[], options: ChangeValuesOptions): Promise<boolean> {
  const changes = typed.flatMap(argument => readAssignment(argument) ?? []);
  // Files are for the long way, and what is no assignment.
  const isPlain = changes.length === typed.length && !changes.some(({ text }) => text === "-" || text.startsWith("@"));
  return isPlain && change(changes, options);
}

/** `repoconf unset`. */
export function unset(names: readonly string[], options: ChangeValuesOptions): Promise<boolean> {
  return change(
    names.map(place => ({ place, op: "unset" })),
    options,
  );
}

async function change(typed: readonly TypedChange[], options: ChangeValuesOptions): Promise<boolean> {
  const [repo, ...others] = options.repo ?? [];
  if (others.length > 0 || options.where !== undefined) return false;
  const { ifRevision: revision } = options;
  const args = { ...changeArguments(options), ...(revision !== undefined && { revision }), typed, schemas: true };
  const reply = await askAbout("config/set", args, { ...options, repo });
  if (reply === undefined) return false;
  const fields = fieldsOf(reply);
  if (options.json) await printChangeJson(reply, async () => fields);
  else printChanges(reply.result, { changes: reply.typed ?? [], fields, dryRun: options.dryRun === true });
  warnOfSecrets(reply.result, reply.typed ?? [], fields);
  await throwRefusal(reply, async () => {
    const all = await askAbout("config/list", { schemas: true }, { ...options, repo });
    return fieldsOf(all ?? reply);
  });
  return true;
}
