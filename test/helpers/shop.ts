import { rename, writeFile } from "node:fs/promises";
import type { JsonValue } from "../../shared/json.ts";
import type { HealthProblem } from "../../shared/protocol.ts";
import { noRescans, startTestDaemon, type TestDaemon, type TestDaemonOptions } from "./daemon.ts";

export const shopText = `{
  "$schema": "../repository.schema.json",
  "name": "shop",
  // What people changed.
  "config": {
    "svc": {
      "timeout": 30, // half a minute
      "refresh_day": 2
    }
  }
}
`;

export type Shop = Awaited<ReturnType<typeof startShop>>;

/** A daemon that started with one repository file, `shop`, in its home; the owner watches it. */
export async function startShop(text: string = shopText, options: TestDaemonOptions = {}) {
  // Only the watch detects changes, unless a test asks for rescans.
  const t = await startTestDaemon({ files: { "repos/shop.json": text }, ...noRescans, ...options });
  // The reply arrives when the history contains the file's values.
  await t.owner.call("file/read", { repo: "shop" });
  await t.owner.call("config/watch", { repo: "shop" });
  return {
    t,
    file: t.repositoryFile("shop"),
    read: () => t.readRepository("shop"),
    set: (fields: { readonly [path: string]: JsonValue }) =>
      t.owner.call("config/set", { repo: "shop", ...fields, flush: true }),
    /** The effective value of a field of the scope svc. */
    value: async (field: string): Promise<JsonValue | undefined> =>
      (await t.owner.call("config/list", { repo: "shop" })).result["svc"]?.[field],
    revision: async () => (await t.owner.call("config/list", { repo: "shop" })).revision,
    health: () => healthOf(t, "shop"),
    /** The sources of all changes that the owner received. */
    sources: () => t.owner.events.flatMap(([resource, , payload]) => (resource === "config" ? [payload.source] : [])),
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

export async function healthOf(t: TestDaemon, id: string): Promise<readonly HealthProblem[]> {
  const { result } = await t.owner.call("repo/list");
  return result.find(entry => entry.id === id)?.health ?? [];
}

/** Saves as most editors do: writes a new file and renames it over the old one, so nobody sees half of it. */
export async function saveByRename(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

/** The line and column, from 1, of `part` in `text`. */
export function placeIn(text: string, part: string): { readonly line: number; readonly column: number } {
  const before = text.slice(0, text.indexOf(part)).split("\n");
  return { line: before.length, column: (before.at(-1) ?? "").length + 1 };
}
