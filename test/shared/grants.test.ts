import { describe, expect, test } from "vitest";
import {
  allows,
  allowsAnyField,
  allowsEveryField,
  allowsInScope,
  allowsSomewhere,
  type Grant,
  type Grants,
  ownerGrants,
  type Right,
} from "../../shared/grants.ts";

const read = (repos: Grant["repos"], ...fields: string[]): Grant => ({ repos, fields, right: "read" });
const write = (repos: Grant["repos"], ...fields: string[]): Grant => ({ repos, fields, right: "write" });

describe("allows: a right on one field of one repository", () => {
  test.each<[title: string, grants: Grants, right: Right, repo: string, path: string, expected: boolean]>([
    ["nothing is allowed by default", [], "read", "one", "svc.timeout", false],
    ["a grant of no repository gives nothing", [read([], "*")], "read", "one", "svc.timeout", false],
    ["a grant of no field gives nothing", [read("*")], "read", "one", "svc.timeout", false],
    ["a field by its name", [read("*", "svc.timeout")], "read", "one", "svc.timeout", true],
    ["a name is not a prefix", [read("*", "svc.timeout")], "read", "one", "svc.timeout_x", false],
    ["a name does not cover a shorter one", [read("*", "svc.timeout")], "read", "one", "svc.time", false],
    ["a name is case-sensitive", [read("*", "svc.Timeout")], "read", "one", "svc.timeout", false],
    ["every field of a scope", [read("*", "svc.*")], "read", "one", "svc.timeout", true],
    ["a scope's star ends at its dot", [read("*", "svc.*")], "read", "one", "svc2.timeout", false],
    ["fields with the prefix", [read("*", "svc.proxy_*")], "read", "one", "svc.proxy_url", true],
    ["fields without the prefix", [read("*", "svc.proxy_*")], "read", "one", "svc.domain", false],
    ["a prefix matches a field with exactly that name", [read("*", "svc.proxy*")], "read", "one", "svc.proxy", true],
    ["a scope without its dot is that scope", [read("*", "svc*")], "read", "one", "svc.timeout", true],
    ["a scope without its dot is not a prefix", [read("*", "svc*")], "read", "one", "svcother.timeout", false],
    ["everything", [read("*", "*")], "read", "one", "svc.timeout", true],
    ["a dot stands for itself", [read("*", "svc.timeout")], "read", "one", "svcxtimeout", false],
    ["a named repository", [read(["one"], "*")], "read", "one", "svc.timeout", true],
    ["another repository", [read(["one"], "*")], "read", "two", "svc.timeout", false],
    ["a repository's name is not a prefix", [read(["one"], "*")], "read", "one1", "svc.timeout", false],
    ["a star among ids is an id, not every repository", [read(["*"], "*")], "read", "one", "svc.timeout", false],
    ["write includes read", [write("*", "svc.timeout")], "read", "one", "svc.timeout", true],
    ["read does not include write", [read("*", "svc.timeout")], "write", "one", "svc.timeout", false],
    ["rights add up", [read("*", "svc.*"), write("*", "svc.timeout")], "write", "one", "svc.timeout", true],
    ["what adds up stays apart by field", [read("*", "*"), write("*", "svc.a")], "write", "one", "svc.b", false],
    ["what adds up stays apart by repository", [read("*", "*"), write(["two"], "*")], "write", "one", "svc.b", false],
    ["the owner may write everything", ownerGrants, "write", "one", "other.anything", true],
  ])("%s", (_title, grants, right, repo, path, expected) => {
    expect(allows(grants, right, repo, path)).toBe(expected);
  });
});

describe("allowsEveryField: no field needs a check of its own", () => {
  test.each<[title: string, grants: Grants, right: Right, expected: boolean]>([
    ["the star alone gives every field", [read("*", "*")], "read", true],
    ["a scope's star does not", [read("*", "svc.*")], "read", false],
    ["the star of another repository does not", [read(["two"], "*")], "read", false],
    ["a star to read gives no write", [read("*", "*")], "write", false],
    ["a star to write gives read", [write(["one"], "*")], "read", true],
  ])("%s", (_title, grants, right, expected) => {
    expect(allowsEveryField(grants, right, "one")).toBe(expected);
  });
});

describe("allowsAnyField: a right on at least one field of a repository", () => {
  const paths = ["svc.timeout", "svc.domain"];
  test.each<[title: string, grants: Grants, right: Right, expected: boolean]>([
    ["one of the fields is enough", [read("*", "svc.domain")], "read", true],
    ["a missing field is not", [read("*", "svc.gone")], "read", false],
    ["read on a field does not include write", [read("*", "svc.domain")], "write", false],
    ["a field of another repository is not", [read(["two"], "svc.domain")], "read", false],
  ])("%s", (_title, grants, right, expected) => {
    expect(allowsAnyField(grants, right, "one", paths)).toBe(expected);
  });

  test("a star grants access to a repository even before any field is known", () => {
    expect(allowsAnyField(ownerGrants, "write", "one", [])).toBe(true);
  });
});

describe("allowsSomewhere: a right on a field in at least one repository", () => {
  test.each<[title: string, grants: Grants, right: Right, expected: boolean]>([
    ["one repository is enough", [read(["one"], "svc.timeout")], "read", true],
    ["no repository is not", [read([], "svc.timeout")], "read", false],
    ["another field is not", [read("*", "svc.domain")], "read", false],
    ["read is no write", [read("*", "svc.timeout")], "write", false],
  ])("%s", (_title, grants, right, expected) => {
    expect(allowsSomewhere(grants, right, "svc.timeout")).toBe(expected);
  });
});

describe("allowsInScope: any field that a scope may have", () => {
  test.each<[title: string, fields: string, expected: boolean]>([
    ["a field of it", "svc.timeout", true],
    ["some fields of it", "svc.proxy_*", true],
    ["all fields of it", "svc.*", true],
    ["all fields of it, without the dot", "svc*", true],
    ["a prefix of its name", "s*", false],
    ["everything", "*", true],
    ["a scope whose name begins with this one's", "svc2.timeout", false],
    ["another scope", "other.*", false],
    ["the scope's name without a field", "svc", false],
  ])("%s", (_title, fields, expected) => {
    expect(allowsInScope([read("*", fields)], "read", "svc")).toBe(expected);
    expect(allowsInScope([read([], fields)], "read", "svc")).toBe(false);
    expect(allowsInScope([read("*", fields)], "write", "svc")).toBe(false);
  });
});
