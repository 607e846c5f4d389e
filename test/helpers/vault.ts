import type { KeyRight, Right } from "../../shared/grants.ts";
import type { OperationName } from "../../shared/protocol.ts";
import { startTestDaemon } from "./daemon.ts";

const text = { type: "string", default: "" };
/** Secrets, and references to secrets, in every kind of field that may hold one; and a command and a variable. */
const vault = {
  type: "object",
  properties: {
    open: text,
    token: { ...text, "x-masked": true },
    password: { ...text, "x-secret": true },
    login: {
      type: "object",
      properties: { user: { type: "string" }, word: { type: "string", "x-masked": true } },
      default: {},
    },
    notes: { type: "array", items: { type: "string" }, default: [] },
    spots: { type: "object", default: {} },
    // A hand edit that names no desk is told, and its value to nobody.
    desks: { type: "object", default: {}, "x-masked": true },
    desk: { ...text, "x-keyOf": "desks", "x-masked": true },
    run: { ...text, "x-command": true },
    path: { ...text, "x-env": "PATH" },
  },
};

export const secrets = Array.from({ length: 8 }, (_, index) => `planted${index + 1}`);
const [token = "", older = "", password = "", word = "", note = "", variable = "", desk = "", reason = ""] = secrets;
export const planted = { token, older, password, word, note, variable, desk, reason };

/** The values of a planted repository at revision 3; `vault.open` is for every key. */
export const now: { readonly [path: string]: unknown } = {
  "vault.open": "seen",
  "vault.token": token,
  "vault.password": `cmd://op/${password}`,
  "vault.login": { user: "ada", word },
  "vault.notes": ["plain", `cmd://op/${note}`],
  "vault.spots": { [`CMD://op/${note}`]: 1 },
  "svc.envvars": [{ name: "KEY", value: variable }],
};
export const hidden = Object.keys(now).filter(path => path !== "vault.open");

/** Beside the shared values of a planted repository. */
const localValues = {
  "vault.open": "mine",
  "vault.token": older,
  "vault.password": "mine",
  "vault.login": { user: "ada", word },
  "vault.notes": ["plain"],
  "svc.envvars": [{ name: "OTHER", value: variable }],
};

/** A daemon in whose repositories eight secrets can be planted: present, past, in a file's invalid value and in a reason. */
export async function startVault() {
  const t = await startTestDaemon({ files: { "scopes/vault.schema.json": vault } });
  let keys = 0;
  return Object.assign(t, {
    /** Adds a repository with the secrets. */
    plant: async (repo: string) => {
      const must = async (name: OperationName, args: object) => {
        const { errors } = await t.owner.call(name, { repo, ...args });
        if (errors.length > 0) throw new Error(JSON.stringify(errors));
      };
      await t.addRepository(repo);
      await must("config/set", { "vault.token": older, "vault.open": "before" });
      await must("config/set", { ...now, reason, batch: "all" });
      const { result } = await t.owner.call("file/read", { repo });
      const file = JSON.parse(result.text ?? "");
      file.config.vault.desk = desk;
      await must("file/write", { text: JSON.stringify(file), expected: result.text });
    },
    /** Adds local values to a repository with the secrets: other ones, the same as the shared, and plain ones over references. */
    plantLocal: async (repo: string, values: object = localValues) => {
      const { errors } = await t.owner.call("config/set", { repo, layer: "local", ...values });
      if (errors.length > 0) throw new Error(JSON.stringify(errors));
    },
    /** A key for all of these repositories. */
    keyOf: async (repos: readonly string[], right: Right, rights: readonly KeyRight[] = []) => {
      const grants = [{ repos, fields: ["*"], right }];
      return (await t.owner.call("key/create", { name: `tool ${++keys}`, grants, rights })).result;
    },
    revisionOf: async (repo: string) => (await t.owner.call("repo/list", { repo })).result[0]?.revision ?? 0,
  });
}
