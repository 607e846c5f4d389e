import { configValue } from "../../shared/config.ts";
import { sameJson } from "../../shared/json.ts";
import { daemon } from "./connection.ts";
import { type OpenRepository, screenStore } from "./store.ts";

/** Whose local value counts for a field: the person's own in this work tree, or that of the main one. */
export function overriddenBy(
  layers: OpenRepository["layers"],
  scope: string,
  field: string,
): "local" | "base" | undefined {
  return (["local", "base"] as const).find(name => configValue(layers?.[name] ?? {}, scope, field) !== undefined);
}

/** Reads which local values a repository that is open has. */
export async function loadLayers(repo: string): Promise<void> {
  if (!screenStore.getState().opened.has(repo)) return;
  const { layers, revision } = await daemon()
    .request("config/list", { repo, stored: true, layers: true })
    // The connection is lost, which is already reported.
    .catch(() => ({ layers: undefined, revision: undefined }));
  screenStore.setState(state => {
    const opened = state.opened.get(repo);
    if (layers === undefined || opened === undefined || (revision ?? 0) < opened.revision) return {};
    return sameJson(opened.layers, layers) ? {} : { opened: new Map(state.opened).set(repo, { ...opened, layers }) };
  });
}
