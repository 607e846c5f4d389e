import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { JsonValue } from "../../shared/json.ts";
import { noRescans, startTestDaemon, type TestDaemon, type TestDaemonOptions, until } from "./daemon.ts";
import { saveByRename } from "./shop.ts";
import { startWorkTree } from "./work-tree.ts";

/** Fields by name, each with its schema. */
type Fields = { readonly [field: string]: { readonly [keyword: string]: JsonValue } };

const whole = { type: "integer", default: 1 } as const;
/** The scope `deploy` before and after two of its fields were renamed. */
export const before: Fields = { jobs: whole, zone: { type: "string", default: "" } };
export const after: Fields = {
  workers: { ...whole, minimum: 0, "x-renamedFrom": ["threads", "jobs"] },
  region: { type: "string", default: "", "x-renamedFrom": "zone" },
};

export const deployText = `{
  "name": "shop",
  "config": {
    // by hand
    "deploy": {
      "jobs": 30, // half of all
      "zone": "north" // far away
    },
    "svc": { "timeout": 30 }
  }
}
`;

/** Writes the scope `deploy` into a home; a running daemon detects it by itself. */
export async function putDeploy(home: string, properties: Fields): Promise<void> {
  await mkdir(join(home, "scopes"), { recursive: true });
  await saveByRename(join(home, "scopes/deploy.schema.json"), JSON.stringify({ type: "object", properties }));
}

/** Like `putDeploy`, and waits until the scope is active. */
export async function replaceDeploy(t: TestDaemon, properties: Fields): Promise<void> {
  await putDeploy(t.homeFolder, properties);
  await until(async () => {
    const { result } = await t.owner.call("scope/list");
    return (
      JSON.stringify(result.find(({ scope }) => scope === "deploy")?.schema["properties"]) ===
      JSON.stringify(properties)
    );
  }, "the scope deploy");
  await t.owner.call("file/read", { repo: "shop" });
}

/** A daemon with the repository `shop`, whose file has this text. */
export async function startDeploy(properties: Fields, text = deployText, options: TestDaemonOptions = {}) {
  const t = await startTestDaemon({ ...noRescans, ...options });
  await replaceDeploy(t, properties);
  await t.writeRepository("shop", text);
  await until(async () => (await t.owner.call("config/list", { repo: "shop" })).errors.length === 0, "the repository");
  await t.owner.call("file/read", { repo: "shop" });
  return t;
}

/** The in-tree repository `shop`, whose file has this text, and the scope `deploy`. */
export function startDeployTree(properties: Fields, text: string, options: TestDaemonOptions = {}) {
  const files = { "scopes/deploy.schema.json": { type: "object", properties } };
  return startWorkTree(text, { files, ...options }, "shop");
}

/** The scope's active values, and the revision. */
export async function deployOf(t: TestDaemon) {
  const { result, revision } = await t.owner.call("config/list", { repo: "shop" });
  return { values: result["deploy"] ?? {}, revision };
}
