import { afterAll, describe, expect, test } from "vitest";
import { svcSchema } from "../../../shared/scopes/svc.ts";
import { breakFile, halfAFile } from "../../helpers/broken-file.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";

const t = await startTestDaemon();
afterAll(() => t[Symbol.asyncDispose]());

const { timeout, domain } = svcSchema.properties;
const service = { ready: "true", image: "web:1" };

async function storedValues(repo: string): Promise<unknown> {
  return (await t.owner.call("config/list", { repo, stored: true })).result["svc"] ?? {};
}

describe("config/set: its reply", () => {
  test("spec 4.2: the fields set are returned with value and description, in an array with their repository and its revision", async () => {
    const repo = await t.addRepository();
    const reply = await t.owner.call("config/set", { repo, "svc.timeout": 30, "svc.domain": "example.org" });
    expect(reply).toEqual({
      result: [
        {
          repo,
          revision: 2,
          config: {
            svc: {
              timeout: { value: 30, description: timeout.description },
              domain: { value: "example.org", description: domain.description },
            },
          },
        },
      ],
      errors: [],
    });
    expect(await storedValues(repo)).toEqual({ timeout: 30, domain: "example.org" });
  });

  test.each([
    ["left out", { "svc.timeout": 5 }],
    ["null", { repo: null, "svc.timeout": 5 }],
    ["empty", { repo: "", "svc.timeout": 5 }],
    ["an empty array", { repo: [], "svc.timeout": 5 }],
    ["left out, and no field either", {}],
  ])("spec 4.2, rule 1 and spec 7, 1006: repo %s gives 1006 and an empty result", async (_title, args) => {
    expect(await t.owner.call("config/set", args)).toEqual({
      result: [],
      errors: [{ code: 1006, name: "No Repository ID Provided", message: expect.any(String) }],
    });
  });

  test.each([
    ["nothing else", {}],
    ["options alone", { atomic: false, dryRun: false, reason: "why", revision: 1 }],
    ["a name without a dot", { timeout: 5 }],
  ])("spec 4.2, rule 2 and spec 7, 1008: beside repo %s gives 1008 and an empty result", async (_title, args) => {
    const repo = await t.addRepository();
    expect(await t.owner.call("config/set", { repo, ...args })).toEqual({
      result: [],
      errors: [{ code: 1008, name: "No Configuration Field Provided", message: expect.any(String) }],
    });
  });

  test.each([
    // Beside a <scope>.<field>, also a name without a dot.
    "timeout",
    "svc.nope",
    "nope.timeout",
    "svc.",
    ".timeout",
    ".",
    "svc.Timeout",
    "svc.services.web",
    "svc.__proto__",
    "svc.constructor",
    "__proto__.timeout",
    "constructor.name",
  ])("spec 4.2, rule 3 and spec 7, 1007: the field %s does not exist: 1007 beside what was set", async field => {
    const repo = await t.addRepository();
    const { result, errors } = await t.owner.call("config/set", { repo, [field]: 5, "svc.timeout": 30 });
    expect(errors).toEqual([{ code: 1007, name: "No Configuration Fields Found", message: expect.any(String), field }]);
    expect(result).toEqual([
      { repo, revision: 2, config: { svc: { timeout: expect.objectContaining({ value: 30 }) } } },
    ]);
    expect(await storedValues(repo)).toEqual({ timeout: 30 });
  });

  test("spec 4.2, rule 4: an unknown repository is absent from the output and named in a 1007", async () => {
    const reply = await t.owner.call("config/set", { repo: "nowhere", "svc.timeout": 5 });
    expect(reply).toEqual({
      result: [],
      errors: [{ code: 1007, name: "No Configuration Fields Found", message: expect.any(String), repo: "nowhere" }],
    });
  });

  test("spec 4.2, rule 4: a repository of which no field is left is absent from the output, and keeps its revision", async () => {
    const repo = await t.addRepository();
    const { result } = await t.owner.call("config/set", { repo, "svc.nope": 5, "svc.timeout": "x" });
    expect(result).toEqual([]);
    expect((await t.owner.call("config/list", { repo })).revision).toBe(1);
  });
});

describe("config/set: the order of its checks", () => {
  test.each<[title: string, args: { [name: string]: unknown }, code: number]>([
    ["an option of the wrong type before a missing repo", { atomic: "yes" }, 1101],
    ["a missing repo before a missing field", { repo: "" }, 1006],
    ["a missing repo before a limit", fields(257), 1006],
    ["a missing field before a limit", { repo: ids(1001) }, 1008],
    ["a limit before an unknown repository", { repo: "nowhere", ...fields(257) }, 1107],
    ["a number as revision of several repositories before a missing field", { repo: ["a"], revision: 1 }, 1101],
    ["an object as revision of one repository before a missing field", { repo: "a", revision: { a: 1 } }, 1101],
    ["a number as revision of several before a limit", { repo: ["a"], revision: 1, ...fields(257) }, 1101],
  ])("for the request, %s", async (_title, args, code) => {
    const { result, errors } = await t.owner.call("config/set", args);
    expect(errors.map(error => error.code)).toEqual([code]);
    expect(result).toEqual([]);
  });

  test("null options count as omitted", async () => {
    const repo = await t.addRepository();
    const args = { repo, revision: null, atomic: null, dryRun: null, reason: null, "svc.timeout": 5 };
    expect(await t.owner.call("config/set", args)).toMatchObject({ result: [{ repo, revision: 2 }], errors: [] });
  });

  test("for a repository, a broken file gives 1106 before a revision is compared or a value checked", async () => {
    const repo = await t.addRepository();
    await breakFile(t, repo);
    const reply = await t.owner.call("config/set", { repo, revision: 99, "svc.timeout": "x" });
    expect(reply).toMatchObject({ result: [], errors: [{ code: 1106, name: "Repository File Broken", repo }] });
    expect(await t.readRepository(repo)).toBe(halfAFile);
  });

  test("for a repository, another revision gives 1104 with the current one before a value is checked", async () => {
    const repo = await t.addRepository();
    const reply = await t.owner.call("config/set", { repo, revision: 7, "svc.timeout": "x" });
    const conflict = { code: 1104, name: "Revision Conflict", repo, details: { current: 1 } };
    expect(reply).toMatchObject({ result: [], errors: [conflict] });
  });

  test("for a field, a value its schema rejects gives 1103 with path, rule and given type; the rest is set", async () => {
    const repo = await t.addRepository();
    const { result, errors } = await t.owner.call("config/set", {
      repo,
      "svc.timeout": "30",
      "svc.services": { web: { ready: 1, image: "" } },
      "svc.provider": null,
      "svc.domain": "d",
    });
    expect(errors).toEqual([
      {
        code: 1103,
        name: "Invalid Configuration Value",
        message: expect.stringContaining("svc.timeout"),
        repo,
        field: "svc.timeout",
        details: { path: "", rule: "type", given: "string" },
      },
      expect.objectContaining({
        code: 1103,
        field: "svc.services",
        details: { path: "/web/ready", rule: "type", given: "number" },
      }),
      // null is a value like any other, which no field of svc accepts.
      expect.objectContaining({ field: "svc.provider", details: { path: "", rule: "type", given: "null" } }),
    ]);
    expect(result).toMatchObject([{ repo, revision: 2 }]);
    expect(await storedValues(repo)).toEqual({ domain: "d" });
  });
});

describe("config/set: rules across fields apply to the result of the whole set", () => {
  test.each(["svc.default", "svc.application"])("%s must be a key of svc.services", async field => {
    const repo = await t.addRepository();
    const reply = await t.owner.call("config/set", { repo, [field]: "web", "svc.timeout": 5 });
    expect(reply).toMatchObject({ result: [{ repo, revision: 2 }], errors: [{ code: 1103, repo, field }] });
    expect(await storedValues(repo)).toEqual({ timeout: 5 });
  });

  test("one set may add a service and name it, whatever the order", async () => {
    const repo = await t.addRepository();
    const set = { repo, "svc.default": "web", "svc.services": { web: service }, "svc.application": "web" };
    expect(await t.owner.call("config/set", set)).toMatchObject({ result: [{ revision: 2 }], errors: [] });
    expect(await storedValues(repo)).toEqual({ default: "web", services: { web: service }, application: "web" });
  });

  test("removing a named service is refused, unless the same set removes its name too", async () => {
    const repo = await t.addRepository();
    await t.owner.call("config/set", { repo, "svc.services": { web: service }, "svc.default": "web" });
    const refused = await t.owner.call("config/set", { repo, "svc.services": {}, "svc.timeout": 5 });
    expect(refused.errors).toMatchObject([{ code: 1103, repo, field: "svc.services" }]);
    expect(refused.result).toMatchObject([{ revision: 3, config: { svc: { timeout: { value: 5 } } } }]);
    const taken = await t.owner.call("config/set", { repo, "svc.services": {}, "svc.default": "" });
    expect(taken).toMatchObject({ result: [{ revision: 4 }], errors: [] });
  });

  test("a service whose value is rejected cannot be named in the same set", async () => {
    const repo = await t.addRepository();
    const set = { repo, "svc.services": { web: "web:1" }, "svc.default": "web" };
    const { result, errors } = await t.owner.call("config/set", set);
    expect(errors.map(({ code, field }) => [code, field])).toEqual([
      [1103, "svc.services"],
      [1103, "svc.default"],
    ]);
    expect(result).toEqual([]);
  });

  test("an inherited name is not a service", async () => {
    const repo = await t.addRepository();
    for (const name of ["constructor", "__proto__", "toString"])
      expect(await t.owner.call("config/set", { repo, "svc.default": name })).toMatchObject({
        errors: [{ code: 1103, field: "svc.default" }],
      });
  });
});

function fields(count: number): { [name: string]: unknown } {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`svc.field${index}`, 5]));
}

function ids(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `repo${index}`);
}
