import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { describe, expect, test } from "vitest";
import { svcSchema } from "../../shared/scopes/svc.ts";
import {
  addRepositories,
  addScope,
  askOnTerminal,
  type CommandHome,
  hasTerminal,
  makeShop,
} from "../helpers/command-home.ts";

const fieldCount = Object.keys(svcSchema.properties).length;

async function listStored(home: CommandHome, repo: string): Promise<unknown> {
  return await home.json(["list", "--repo", repo, "--stored", "--reveal"]);
}

describe.concurrent("repoconf export", () => {
  test("exports stored values as JSON, all fields with --all-fields, masked values with --reveal", async () => {
    await using home = await makeShop();
    expect(await home.succeed(["export", "--repo", "shop"])).toBe("{}\n");
    await home.succeed(["set", "--repo", "shop", "svc.timeout=30", `svc.envvars=[{"name":"A","value":"s3cret"}]`]);
    const stored = { svc: { timeout: 30, envvars: [{ name: "A", value: "s3cret" }] } };
    expect(JSON.parse(await home.succeed(["export", "--repo", "shop", "--reveal"]))).toEqual(stored);
    const all = JSON.parse(await home.succeed(["export", "--repo", "shop", "--all-fields", "--reveal"]));
    expect(Object.keys(all.svc)).toHaveLength(fieldCount);
    expect(all.svc).toMatchObject({ timeout: 30, refresh_hour: 4 });
  });

  test("the file is private, and an existing one is replaced only with --force", async () => {
    await using home = await makeShop();
    const file = join(home.workFolder, "shop.json");
    await home.succeed(["export", "--repo", "shop", "--output", "shop.json"]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await home.succeed(["set", "--repo", "shop", "svc.timeout=30"]);
    await home.refuse(1, ["export", "--repo", "shop", "--output", "shop.json"], "--force");
    expect(await readFile(file, "utf8")).toBe("{}\n");
    await home.succeed(["export", "--repo", "shop", "--output", "shop.json", "--force"]);
    expect(JSON.parse(await readFile(file, "utf8"))).toEqual({ svc: { timeout: 30 } });
  });

  test("parseEnv and import read the same values from env lines, and the file's name determines the format", async () => {
    await using home = await makeShop();
    const values = {
      svc: {
        timeout: 30,
        proxy_https: true,
        application_path: 'two\nlines "quoted" $HOME # \\ `id`',
        domain: "it's",
        services: { web: { ready: "sh -c 'curl \"$URL\"'", image: "web:1" } },
      },
    };
    await writeFile(join(home.workFolder, "values.json"), JSON.stringify(values));
    await home.succeed(["import", "values.json", "--repo", "shop", "--yes"]);
    const lines = await home.succeed(["export", "--repo", "shop", "--format", "env"]);
    expect(parseEnv(lines)).toMatchObject({
      SVC_TIMEOUT: "30",
      SVC_PROXY_HTTPS: "true",
      SVC_APPLICATION_PATH: values.svc.application_path,
      SVC_DOMAIN: "it's",
    });
    await home.succeed(["export", "--repo", "shop", "--output", ".env"]);
    expect(await readFile(join(home.workFolder, ".env"), "utf8")).toBe(lines);
    await addRepositories(home, "blog");
    await home.succeed(["import", ".env", "--repo", "blog", "--yes"]);
    expect(await listStored(home, "blog")).toEqual(values);
  });

  test("a text that an env file cannot contain is refused with exit code 3 and the field's name, and no file is created", async () => {
    await using home = await makeShop();
    await home.succeed(["set", "--repo", "shop", "svc.domain=it's $5", "svc.timeout=30"]);
    await home.refuse(3, ["export", "--repo", "shop", "--output", ".env"], "svc.domain");
    await expect(stat(join(home.workFolder, ".env"))).rejects.toThrow("ENOENT");
  });

  test("two fields with the same variable name are both refused with exit code 3 if one of them has a value", async () => {
    await using home = await makeShop();
    const text = { type: "string", default: "" };
    await addScope(home, "extra", { "a-b": text, a_b: text });
    expect(await home.succeed(["export", "--repo", "shop", "--format", "env"])).toBe("");
    await home.succeed(["set", "--repo", "shop", "extra.a-b=x"]);
    const said = "extra.a-b and extra.a_b would both be EXTRA_A_B";
    await home.refuse(3, ["export", "--repo", "shop", "--format", "env"], said);
  });
});

describe.concurrent("repoconf import", () => {
  test("shows only what would change, masked, requires --yes without a terminal, and is one revision", async () => {
    await using home = await makeShop();
    await home.succeed(["set", "--repo", "shop", "svc.timeout=30", "svc.domain=a.test"]);
    const values = { svc: { timeout: 31, domain: "a.test", envvars: [{ name: "A", value: "s3cret" }] } };
    await writeFile(join(home.workFolder, "values.json"), JSON.stringify(values));
    const asked = await home.run(["import", "values.json", "--repo", "shop"]);
    expect(asked).toMatchObject({ code: 1, errorOutput: expect.stringContaining("--yes") });
    expect(asked.output).toBe(`svc.timeout: 30 -> 31\nsvc.envvars: [] (default) -> [{"name":"A","value":"••••••"}]\n`);
    expect(await home.succeed(["import", "values.json", "--repo", "shop", "--dry-run"])).toContain("30 -> 31");
    expect(await listStored(home, "shop")).toEqual({ svc: { timeout: 30, domain: "a.test" } });

    const { revision } = (await home.json(["repo", "list"]))[0];
    const output = await home.succeed(["import", "values.json", "--repo", "shop", "--yes"]);
    expect(output).toContain("Imported 2 fields into shop");
    expect(await home.json(["repo", "list"])).toMatchObject([{ revision: revision + 1 }]);
    expect(await listStored(home, "shop")).toEqual(values);
    expect(await home.succeed(["import", "values.json", "--repo", "shop"])).toBe("Nothing to change.\n");
  });

  test("one invalid field or value refuses everything with exit code 3, and every error is reported", async () => {
    await using home = await makeShop();
    const input = JSON.stringify({ svc: { timeout: 30, refresh_hour: 99, tmeout: 1, default: "none" }, extra: 1 });
    const { code, output, errorOutput } = await home.run(["import", "-", "--repo", "shop", "--yes"], { input });
    expect([code, output]).toEqual([3, ""]);
    for (const part of ["svc.refresh_hour", `"svc.tmeout". Did you mean "svc.timeout"`, "svc.default", `"extra"`])
      expect(errorOutput).toContain(part);
    expect(await listStored(home, "shop")).toEqual({});
  });

  test("variables without a field are named and refused, unless --ignore-unknown skips them; invalid JSON with its position, a missing file by name", async () => {
    await using home = await makeShop();
    const input = "SVC_TIMEOUT=30\nSVC_DEFAULT_PORT=9090\nPATH=/bin\n";
    const args = ["import", "-", "--format", "env", "--repo", "shop", "--yes"];
    await home.refuse(3, args, "PATH", { input });
    expect(await listStored(home, "shop")).toEqual({});
    await home.refuse(1, ["import", "-", "--repo", "shop"], "JSON: standard input, line 2, column 21", {
      input: `{\n "svc": { "timeout" 30 } }`,
    });
    for (const line of [`SVC_DOMAIN="un`, `SVC_DOMAIN='two\nlines' x`, "SVC_DOMAIN", `SVC_DOMAIN="say \\"hi\\""`])
      await home.refuse(3, args, "Line 5 is", { input: `# one\n\nSVC_DOMAIN='two\r\nlines' # "\r\n${line}\n` });
    await home.refuse(2, ["import", "missing.json", "--repo", "shop"], "missing.json");
    await home.succeed([...args, "--ignore-unknown"], { input });
    expect(await listStored(home, "shop")).toEqual({ svc: { timeout: 30, default_port: "9090" } });
  });

  test("a key without the right to write a field is refused, and nothing is set", async () => {
    await using home = await makeShop();
    const key = await home.run(["key", "create", "tool", "--field", "svc.timeout", "--right", "write"]);
    const input = JSON.stringify({ svc: { timeout: 30, domain: "a.test" } });
    const environment = { REPOCONF_API_KEY: key.output.trim() };
    await home.refuse(3, ["import", "-", "--repo", "shop", "--yes"], "svc.domain", { input, environment });
    expect(await listStored(home, "shop")).toEqual({});
  });

  test("a change made while the question is open is not overwritten, and the exit code is 3", async ({ skip }) => {
    skip(!hasTerminal, "no script");
    await using home = await makeShop();
    await writeFile(join(home.workFolder, "values.json"), `{ "svc": { "timeout": 30 } }`);
    const asking = await askOnTerminal(home, ["import", "values.json", "--repo", "shop"]);
    await home.succeed(["set", "--repo", "shop", "svc.domain=a.test"]);
    expect(await asking.answer("y")).toBe(3);
    expect(asking.shown()).toContain("changed the repository in the meantime");
    expect(await listStored(home, "shop")).toEqual({ svc: { domain: "a.test" } });
  });
});
