import { expect, test } from "vitest";
import { allows, allowsInScope, type Grant, type Grants, ownerGrants, type Right } from "../../shared/grants.ts";

const read = (repos: Grant["repos"], ...fields: string[]): Grant => ({ repos, fields, right: "read" });
const write = (repos: Grant["repos"], ...fields: string[]): Grant => ({ repos, fields, right: "write" });

test.each<[title: string, grants: Grants, right: Right, repo: string, path: string, expected: boolean]>([
  ["nothing is allowed by default", [], "read", "one", "svc.timeout", false],
  ["a name is not a prefix", [read("*", "svc.timeout")], "read", "one", "svc.timeout_x", false],
  ["a name does not cover a shorter one", [read("*", "svc.timeout")], "read", "one", "svc.time", false],
  ["a name is case-sensitive", [read("*", "svc.Timeout")], "read", "one", "svc.timeout", false],
  ["a scope's star ends at its dot", [read("*", "svc.*")], "read", "one", "svc2.timeout", false],
  ["a prefix matches a field with exactly that name", [read("*", "svc.proxy*")], "read", "one", "svc.proxy", true],
  ["a scope without its dot is that scope", [read("*", "svc*")], "read", "one", "svc.timeout", true],
  ["a scope without its dot is not a prefix", [read("*", "svc*")], "read", "one", "svcother.timeout", false],
  ["a dot stands for itself", [read("*", "svc.timeout")], "read", "one", "svcxtimeout", false],
  ["a repository's name is not a prefix", [read(["one"], "*")], "read", "one1", "svc.timeout", false],
  ["a star among ids is an id, not every repository", [read(["*"], "*")], "read", "one", "svc.timeout", false],
  ["rights add up", [read("*", "svc.*"), write("*", "svc.timeout")], "write", "one", "svc.timeout", true],
  ["the owner may write everything", ownerGrants, "write", "one", "other.anything", true],
])("allows, of a right on one field of one repository: %s", (_title, grants, right, repo, path, expected) => {
  expect(allows(grants, right, repo, path)).toBe(expected);
});

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
])("allowsInScope, of any field that a scope may have: %s", (_title, fields, expected) => {
  expect(allowsInScope([read("*", fields)], "read", "svc")).toBe(expected);
  expect(allowsInScope([read([], fields)], "read", "svc")).toBe(false);
  expect(allowsInScope([read("*", fields)], "write", "svc")).toBe(false);
});
