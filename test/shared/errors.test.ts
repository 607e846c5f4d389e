import { describe, expect, test } from "vitest";
import { type ErrorCode, errorNames, RepoconfError, toRepoconfError } from "../../shared/errors.ts";
import { protocolCodes } from "../helpers/protocol-table.ts";

const codes = Object.keys(protocolCodes).map(Number) as ErrorCode[];

describe("the table of codes", () => {
  test.each(codes)("%i has the protocol's name, alone and on the wire", code => {
    expect(errorNames[code]).toBe(protocolCodes[code]);
    expect(new RepoconfError(code, "what to do").toEntry()).toEqual({
      code,
      name: protocolCodes[code],
      message: "what to do",
    });
  });

  test("no two codes share a name", () => {
    const names = Object.values(errorNames);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe("an expected error", () => {
  test("is sent with repo, field and details, and without its cause or stack", () => {
    const context = { repo: "a", field: "svc.timeout", details: { current: 3 } };
    const error = new RepoconfError(1104, "decide anew", context, new Error("/secret/path"));
    const entry = { code: 1104, name: "Revision Conflict", message: "decide anew", ...context };
    expect(JSON.parse(JSON.stringify(error.toEntry()))).toEqual(entry);
    // It is not wrapped again.
    expect(toRepoconfError(error)).toBe(error);
  });

  test("keeps everything else when a repository is added", () => {
    const error = new RepoconfError(1103, "no", { field: "svc.timeout", details: { rule: "type" } }, "cause");
    const said = error.inRepository("b");
    expect(said.toEntry()).toEqual({ ...error.toEntry(), repo: "b" });
    expect(said.cause).toBe("cause");
    expect(error.repo).toBeUndefined();
  });
});

const hostile = {
  get message(): never {
    throw new Error("message was read");
  },
};

test.each([
  ["an Error", new Error("ENOENT /home/me/secret")],
  ["an error of the system", Object.assign(new Error("secret"), { code: "EACCES", path: "/secret" })],
  ["an error with a code of ours", Object.assign(new Error("secret"), { code: 1006, name: errorNames[1006] })],
  ["an object that looks like ours", { code: 1006, message: "secret", toEntry: () => ({ code: 1006 }) }],
  ["an object that cannot be read", hostile],
  ["a text", "secret"],
  ["a symbol", Symbol("secret")],
  ["null", null],
])("an unexpected error becomes 1500 and reveals nothing: %s", (_, thrown) => {
  const error = toRepoconfError(thrown);
  expect(error.code).toBe(1500);
  expect(error.cause).toBe(thrown);
  const entry = error.toEntry();
  expect(Object.keys(entry).sort()).toEqual(["code", "message", "name"]);
  expect(entry.name).toBe("Internal Error");
  expect(JSON.stringify(entry)).not.toContain("secret");
});
