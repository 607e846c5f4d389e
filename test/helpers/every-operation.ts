import { hashOfProposal } from "../../main/daemon/operations/proposal.ts";
import { hashOfValue } from "../../main/store/values/trusted-values.ts";
import type { Grants } from "../../shared/grants.ts";
import type { OperationName } from "../../shared/protocol.ts";

export const everything: Grants = [{ repos: "*", fields: ["*"], right: "write" }];
const cellarText = `{ "name": "cellar" }`;
/** The id of a key that exists to be revoked. */
const victimId = "0123456789ab";
/** The id of something that was found, which exists to be dismissed. */
const findingId = "0a1b2c";

/** Arguments with which the owner's key succeeds. Operations that end something that others need come last. */
export const operations: { readonly [Name in OperationName]: { readonly [name: string]: unknown } } = {
  "config/list": { repo: "shop" },
  "config/set": { repo: "shop", "svc.timeout": 66 },
  "config/unset": { repo: "shop", fields: ["svc.timeout"] },
  "config/explain": { repo: "shop", field: "svc.timeout" },
  "config/hook": { path: import.meta.dirname, shell: "zsh" },
  "config/search": { query: "shop" },
  "config/matrix": { query: "shop" },
  "config/cells": { repo: "shop", fields: ["svc.timeout"] },
  "config/watch": {},
  "config/unwatch": {},
  "history/list": { repo: "shop" },
  "history/search": { query: "" },
  "history/restore": { repo: "shop", to: 1 },
  "history/forget": { repo: "shop", field: "svc.timeout" },
  "scope/list": {},
  "repo/list": {},
  "repo/find": { path: import.meta.dirname },
  "repo/add": { name: "planted", id: "planted" },
  "repo/update": { repo: "shop", name: "taken over" },
  "repo/scan": { path: import.meta.dirname },
  "repo/look": { path: import.meta.dirname },
  "file/read": { repo: "cellar" },
  "file/write": { repo: "cellar", text: `{ "name": "planted" }`, expected: cellarText },
  "file/restore": { repo: "cellar" },
  "trust/list": {},
  // Already active, which is a success.
  "trust/accept": { repo: "shop", field: "svc.provider", hash: hashOfValue("here") },
  "trust/preview": { scope: "planted", text: `{ "type": "object", "properties": {} }` },
  "proposal/list": {},
  "proposal/accept": {
    id: "0b1c2d",
    hash: hashOfProposal({
      path: "svc.provider",
      layer: "shared",
      rule: hashOfValue("here"),
      value: "here",
      stored: "here",
    }),
  },
  "proposal/remove": { id: "0b1c2e" },
  "draft/list": {},
  "draft/set": { drafts: [{ repo: "shop", field: "svc.timeout", value: 66 }] },
  "session/create": { label: "desktop" },
  "session/link": {},
  "session/touch": {},
  "key/self": {},
  "key/list": {},
  "key/create": { name: "planted", grants: everything },
  "daemon/status": {},
  "daemon/dismiss": { id: findingId },
  "repo/remove": { repo: "shop" },
  "key/revoke": { id: victimId },
  "daemon/stop": {},
};
export const names = Object.keys(operations) as OperationName[];

/** What the operations need in a home. */
export const files = {
  "repos/shop.json": { name: "shop", path: import.meta.dirname, config: { svc: { timeout: 5, provider: "here" } } },
  "repos/cellar.json": cellarText,
  "keys.json": {
    keys: [{ id: victimId, name: "victim", hash: "0".repeat(64), grants: [], createdAt: "2026-11-21T03:18:02.960Z" }],
  },
  "proposals.json": {
    proposals: ["0b1c2d", "0b1c2e"].map((id, at) => ({
      ...{ id, repo: "shop", field: at === 0 ? "svc.provider" : "svc.domain", value: "here", key: victimId },
      ...{ by: "victim", time: "2026-11-21T03:18:02.960Z" },
    })),
  },
  "findings.json": { findings: [{ id: findingId, time: "2026-11-21T03:18:02.960Z", message: "Found earlier." }] },
};
