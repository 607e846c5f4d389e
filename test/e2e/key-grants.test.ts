import { afterAll, expect, test } from "vitest";
import { addScope, makeShop } from "../helpers/command-home.ts";

const home = await makeShop();
await addScope(home, "deploy", { run: { type: "string", default: "" } });
afterAll(() => home[Symbol.asyncDispose]());

test("key create gives several grants, and says which of them match nothing", async () => {
  const made = await home.run([
    "key",
    "create",
    "several",
    "--read",
    "svc.*",
    "timeout",
    "--write",
    "deploy.*",
    "--json",
  ]);
  expect(JSON.parse(made.output)).toMatchObject({
    grants: [
      { repos: "*", fields: ["svc.*", "timeout"], right: "read" },
      { repos: "*", fields: ["deploy.*"], right: "write" },
    ],
  });
  expect(made.errorOutput).toContain(
    'No field matches "timeout", so the key may do nothing by it. Did you mean "svc.timeout"?',
  );
  expect(made.errorOutput).not.toContain("deploy");
  await home.refuse(2, ["key", "create", "both", "--read", "svc.*", "--right", "write"], "but not both");
});
