import { afterAll, describe, expect, test } from "vitest";
import { svcSchema } from "../../../shared/scopes/svc.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";

const t = await startTestDaemon();
afterAll(() => t[Symbol.asyncDispose]());

const defaults = Object.fromEntries(
  Object.entries(svcSchema.properties).map(([field, schema]) => [field, schema.default]),
);

/** A repository with one stored value, to distinguish stored values from defaults. */
async function repositoryWithTimeout(timeout: number): Promise<string> {
  const repo = await t.addRepository();
  await t.owner.call("config/set", { repo, "svc.timeout": timeout });
  return repo;
}

describe("config/list: what is returned", () => {
  const all = { ...defaults, timeout: 30 };
  test.each<[title: string, args: object, fields: object]>([
    ["rule 1: without scope and field every field of every scope is returned, stored values over defaults", {}, all],
    ["rule 2: with a scope alone every field of that scope is returned", { scope: "svc" }, all],
    ["rule 3: a field without a scope is split as <scope>.<field>", { field: "svc.timeout" }, { timeout: 30 }],
    ["rule 4: with scope and field that field is returned", { scope: "svc", field: "timeout" }, { timeout: 30 }],
    ["rule 3: a field of the current revision", { revision: 2, field: "svc.timeout" }, { timeout: 30 }],
  ])("spec 4.1, %s", async (_title, args, fields) => {
    const repo = await repositoryWithTimeout(30);
    const reply = await t.owner.call("config/list", { repo, ...args });
    expect(reply).toEqual({ result: { svc: fields }, errors: [], revision: 2 });
  });

  test.each([
    ["scope null", { scope: null, field: "svc.domain" }],
    ['scope ""', { scope: "", field: "svc.domain" }],
    ["field null", { scope: "svc", field: null }],
    ['field ""', { scope: "svc", field: "" }],
    ["both null", { scope: null, field: null }],
    ["stored and revision null", { field: "svc.domain", stored: null, revision: null }],
  ])("%s counts as omitted", async (_title, args) => {
    const repo = await t.addRepository();
    const { result, errors } = await t.owner.call("config/list", { repo, ...args });
    expect(errors).toEqual([]);
    expect(result).toEqual({ svc: args.field ? { domain: "" } : defaults });
  });
});

describe("config/list: what is refused", () => {
  test.each([
    ["omitted", {}],
    ["null", { repo: null }],
    ["empty", { repo: "" }],
    ["omitted, with a field", { field: "svc.timeout" }],
    ["omitted, with a field that does not exist", { field: "svc.nope" }],
  ])("spec 4.1, rule 5 and spec 7, 1006: repo %s gives 1006 and an empty result", async (_title, args) => {
    const reply = await t.owner.call("config/list", args);
    expect(reply).toEqual({
      result: {},
      errors: [{ code: 1006, name: "No Repository ID Provided", message: expect.stringMatching(/repo/) }],
    });
  });

  test.each([
    ["an unknown field", { field: "svc.nope" }, "svc.nope"],
    ["an unknown field with its scope", { scope: "svc", field: "nope" }, "svc.nope"],
    ["a field that repeats its scope", { scope: "svc", field: "svc.timeout" }, "svc.svc.timeout"],
    ["an unknown scope", { scope: "nope" }, "nope"],
    ["a field without a dot and without a scope", { field: "timeout" }, "timeout"],
    ["a scope's name as a field", { field: "svc" }, "svc"],
    ["an empty scope and a field", { field: ".timeout" }, ".timeout"],
    ["a field in the wrong case", { field: "svc.Timeout" }, "svc.Timeout"],
    ["a member of a value", { field: "svc.services.web" }, "svc.services.web"],
    ["the prototype of a scope", { field: "svc.__proto__" }, "svc.__proto__"],
    ["a property that every object inherits, as a scope", { scope: "constructor", field: "name" }, "constructor.name"],
  ])("spec 4.1, rule 6 and spec 7, 1011: %s gives 1011 and names the field", async (_title, args, field) => {
    const repo = await t.addRepository();
    const reply = await t.owner.call("config/list", { repo, ...args });
    expect(reply).toEqual({
      result: {},
      errors: [{ code: 1011, name: "Unknown Configuration Field", message: expect.any(String), field }],
    });
  });

  test.each(["nowhere", "../keys", "__proto__", "constructor", "x".repeat(500)])(
    "an unknown repository gives 1102 and an empty result: %s",
    async repo => {
      const problem = expect.objectContaining({ code: 1102, name: "Unknown Repository", repo });
      expect(await t.owner.call("config/list", { repo })).toEqual({ result: {}, errors: [problem] });
    },
  );

  test.each([
    ["1006 before 1011", { field: "svc.nope" }, 1006],
    ["1102 before 1011", { repo: "nowhere", field: "svc.nope" }, 1102],
    ["1011 before 1112", { repo: "known", field: "svc.nope", revision: 99 }, 1011],
  ])("when several things are wrong, %s", async (_title, args, code) => {
    await t.owner.call("repo/add", { name: "known", id: "known" });
    const { errors } = await t.owner.call("config/list", args);
    expect(errors.map(error => error.code)).toEqual([code]);
  });
});

describe("config/list: stored values and revisions", () => {
  test("stored: true returns only stored values, even one that equals its default, and of a field without one nothing, which is no error", async () => {
    const repo = await t.addRepository();
    await t.owner.call("config/set", { repo, "svc.timeout": 900, "svc.domain": "example.org" });
    const stored = await t.owner.call("config/list", { repo, stored: true });
    expect(stored).toEqual({ result: { svc: { timeout: 900, domain: "example.org" } }, errors: [], revision: 2 });
    const none = await t.owner.call("config/list", { repo, field: "svc.provider", stored: true });
    expect(none).toEqual({ result: { svc: {} }, errors: [], revision: 2 });
  });

  test("a nonexistent revision gives 1112, and the error names the newest one", async () => {
    const repo = await t.addRepository();
    const problem = expect.objectContaining({ code: 1112, repo, details: expect.objectContaining({ current: 1 }) });
    expect(await t.owner.call("config/list", { repo, revision: 99 })).toEqual({ result: {}, errors: [problem] });
  });
});
