import { configValue } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import { itemNamesOf } from "../../shared/item-names.ts";
import type { JsonValue } from "../../shared/json.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";
import { applyValueEdits } from "../../shared/value-edit.ts";
import { daemon, openRepository } from "./connection.ts";
import { messageOf, notify } from "./notices.ts";
import { loadLayers } from "./open-layers.ts";
import { screenStore } from "./store.ts";
import { newBatch, rememberSaved } from "./undo.ts";

/** A field of a repository. */
interface FieldPlace {
  readonly repo: string;
  readonly scope: string;
  readonly field: string;
}

/** Takes the local value of a field out, so that the shared one counts. */
export async function takeShared({ repo, scope, field }: FieldPlace): Promise<void> {
  const path = joinConfigPath(scope, field);
  await inOneStep(repo, path, `${path}: the shared value counts now.`, unsetLocal(repo, path));
}

/** Gives everyone the local value of a field: it becomes the shared one. */
export async function moveToShared(place: FieldPlace, schema: FieldSchema): Promise<void> {
  const { repo, scope, field } = place;
  const path = joinConfigPath(scope, field);
  const { layers } = screenStore.getState().opened.get(repo) ?? {};
  const [own, below] = [layers?.local, layers?.shared].map(values => configValue(values ?? {}, scope, field));
  if (own === undefined) return;
  await inOneStep(repo, path, `${path}: moved to the shared values.`, async how => {
    const value = sharedWith(own, below, path, schema);
    const [set] = await daemon().run("config/set", { ...how, repo, [path]: value, layer: "shared" });
    return unsetLocal(repo, path)({ ...how, ...(set && { revision: set.revision }) });
  });
}

/** Of a list that is merged by the names of its items, the shared ones stay. */
function sharedWith(own: JsonValue, below: JsonValue | undefined, path: string, schema: FieldSchema): JsonValue {
  if (itemNamesOf(schema) === undefined || !Array.isArray(own) || !Array.isArray(below)) return own;
  const edits = own.map(value => ({ field: path, op: "add" as const, value }));
  const outcome = applyValueEdits(below, edits, schema);
  return "value" in outcome ? (outcome.value ?? own) : own;
}

interface Step {
  readonly batch: string;
  readonly atomic: true;
  readonly revision: number;
}

function unsetLocal(repo: string, path: string) {
  return async (how: Step) => (await daemon().run("config/unset", { ...how, repo, fields: [path], layer: "local" }))[0];
}

/** Makes a change on the revision that the person has seen, which one undo takes back. */
async function inOneStep(
  repo: string,
  path: string,
  done: string,
  change: (how: Step) => Promise<{ readonly revision: number; readonly batch?: string } | undefined>,
): Promise<void> {
  try {
    const revision = screenStore.getState().opened.get(repo)?.revision ?? 0;
    const changed = await change({ batch: newBatch(), atomic: true, revision });
    if (changed !== undefined) {
      const { revision: saved, batch = "" } = changed;
      rememberSaved({ saved: [{ repo, revision: saved, fields: [path], batch }] });
    }
    notify("done", done);
  } catch (error) {
    notify("problem", messageOf(error));
  }
  await openRepository(repo, true).catch(() => {});
  await loadLayers(repo);
}
