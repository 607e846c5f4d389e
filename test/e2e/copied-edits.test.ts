import { expect, test } from "vitest";
import { editCommands } from "../../renderer/parts/edit-commands.ts";
import { unreadText } from "../../renderer/state/unread-text.ts";
import type { JsonValue } from "../../shared/json.ts";
import type { ScopeSchema } from "../../shared/scopes/scope-schema.ts";
import { svcSchema } from "../../shared/scopes/svc.ts";
import { addScope, makeShop, withCommand } from "../helpers/command-home.ts";
import { runProcess } from "../helpers/spawned-daemon.ts";

const scopes: { readonly [scope: string]: ScopeSchema } = { svc: svcSchema };
const schemaOf = (scope: string, field: string) => scopes[scope]?.properties[field];
const edit = (field: string, value: JsonValue | undefined) => ({ repo: "shop", scope: "svc", field, value });

// A tab without a daemon copies its edits as commands, which a person runs in a shell.
test.concurrent("copied edits set exactly the same values, whatever they contain", async ({ skip }) => {
  skip(process.platform === "win32", "Windows");
  await using home = await makeShop(["svc.domain=old.test"]);
  const environment = await withCommand(home);
  const services = { web: { ready: "it's 1", image: "a b" } };
  const others = [edit("timeout", 55), edit("services", services), edit("domain", undefined)];
  for (const text of ["-", "@file", "it's $HOME `id` !!", "two\nlines", "a \\ b", "--json", "5", ""]) {
    // The others once: each is a command of its own.
    const edits = [edit("provider", text), ...others.splice(0)];
    const script = editCommands(edits, schemaOf);
    const { code, errorOutput } = await runProcess("sh", ["-e", "-c", script], {
      folder: home.workFolder,
      environment,
    });
    expect({ text, code, errorOutput }).toEqual({ text, code: 0, errorOutput: "" });
    const stored: unknown = await home.json(["list", "--repo", "shop", "--stored"]);
    expect(stored).toEqual({ svc: { provider: text, timeout: 55, services } });
  }
});

test.concurrent("copied edits of a field that accepts texts and other values keep them apart", async ({ skip }) => {
  skip(process.platform === "win32", "Windows");
  await using home = await makeShop();
  const properties = {
    note: { type: ["string", "null"], default: null },
    limit: { oneOf: [{ type: "integer" }, { type: "string" }, { type: "null" }], default: 1 },
    mode: { enum: ["1", 1, null, "null"], default: 1 },
  };
  await addScope(home, "app", properties);
  const environment = await withCommand(home);
  const scope: ScopeSchema = { type: "object", properties };
  for (const values of [
    { note: "null", limit: "1", mode: "1" },
    { note: null, limit: null, mode: null },
    { note: "-", limit: 30, mode: "null" },
    { note: "@it's", limit: "30s", mode: 1 },
  ]) {
    const edits = Object.entries(values).map(([field, value]) => ({ ...edit(field, value), scope: "app" }));
    const script = editCommands(edits, (_, field) => scope.properties[field]);
    const { errorOutput } = await runProcess("sh", ["-e", "-c", script], {
      folder: home.workFolder,
      environment,
    });
    expect(errorOutput).toBe("");
    const stored: unknown = await home.json(["list", "--repo", "shop", "--stored"]);
    expect(stored).toEqual({ app: values });
  }
});

test("what is not a value yet is not copied: a comment has its text", () => {
  const edits = [edit("timeout", unreadText("12 o'clock"))];
  expect(editCommands(edits, schemaOf)).toBe(
    ": 'svc.timeout of shop is not a value yet and was not copied: 12 o'\\''clock'\n",
  );
});

test("masked values, and those without a schema, are not copied: a comment names each of them", () => {
  const edits = [edit("envvars", [{ name: "TOKEN", value: "secret" }]), { ...edit("jobs", "secret"), scope: "gone" }];
  expect(editCommands(edits, schemaOf)).toBe(
    [
      ": 'svc.envvars of shop is masked and was not copied'\n",
      ": 'gone.jobs of shop is masked and was not copied'\n",
    ].join(""),
  );
});
