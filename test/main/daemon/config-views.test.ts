import { expect, test } from "vitest";
import { ConfigViews } from "../../../main/daemon/config/config-views.ts";
import { Scopes } from "../../../main/scopes/scopes.ts";
import { ownerGrants } from "../../../shared/grants.ts";

const state = {
  id: "shop",
  name: "shop",
  inTree: false,
  revision: 1,
  health: [],
  stored: { svc: { timeout: 30 } },
} as const;

test("a list reuses the previous list's object for the same state and rights", () => {
  const views = new ConfigViews(new Scopes());
  const some = [{ repos: "*", fields: ["svc.timeout"], right: "read" }] as const;
  for (const grants of [ownerGrants, some]) {
    const first = views.readable(state, grants);
    expect(first["svc"]?.["timeout"]).toBe(30);
    expect(views.readable(state, grants)).toBe(first);
  }
  const all = views.readable(state, ownerGrants);
  expect(views.scopeOf(all, "svc")).toEqual({ svc: all["svc"] });
  expect(views.scopeOf(all, "svc")).toBe(views.scopeOf(all, "svc"));
  expect(views.readable({ ...state }, ownerGrants)).not.toBe(views.readable(state, ownerGrants));
});
