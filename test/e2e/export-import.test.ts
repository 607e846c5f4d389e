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
import { loadedBy, reportLoaded, sourcesIn } from "../helpers/report-loaded.ts";

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
    const { code, errorOutput } = await home.run(["import", "values.json", "--repo", "shop", "--yes"]);
    expect([code, errorOutput]).toEqual([0, expect.stringContaining("svc.services tells tools what to run.")]);
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
    expect(await home.run(["import", ".env", "--repo", "blog", "--yes"])).toMatchObject({ code: 0 });
    expect(await listStored(home, "blog")).toEqual(values);
    await writeFile(join(home.workFolder, "old.env"), lines.replace(/^#.*\n/, ""));
    await home.succeed(["set", "--repo", "blog", "svc.timeout=1"]);
    await home.succeed(["import", "old.env", "--format", "env", "--repo", "blog", "--yes"]);
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
    expect(errorOutput).not.toContain("--map");
    const foreign = await home.run(["import", "-", "--repo", "shop", "--yes"], {
      input: '{ "server": { "port": 1 } }',
    });
    expect(foreign).toMatchObject({ code: 3, errorOutput: expect.stringContaining("for which fields: --map FILE") });
    const left = await home.run(["import", "-", "--repo", "shop", "--yes", "--ignore-unknown"], {
      input: JSON.stringify({ svc: { tmeout: 1 }, server: { port: 1 } }),
    });
    expect(left).toMatchObject({
      code: 0,
      errorOutput: "Left out, because there is no such field: svc.tmeout, server.port.\n",
    });
    expect(await listStored(home, "shop")).toEqual({});
  });

  test("of many problems or notes it prints the first twenty, what to do about all, and how to see the others", async () => {
    await using home = await makeShop();
    const lines = (count: number, line: (index: number) => string) =>
      Array.from({ length: count }, (_, at) => line(at));
    await writeFile(join(home.workFolder, "x.toml"), `[x]\n${lines(1_500, at => `f${at} = ${at}`).join("\n")}\n`);
    const args = ["import", "x.toml", "--repo", "shop", "--yes"];
    const refused = (await home.run(args)).errorOutput;
    expect(refused.split("\n")).toHaveLength(23);
    expect(refused).toMatch(/--map FILE\n.*x\.f0.*x\.f18"[^\n]*\n {2}And 1,481 more\. To print all: --json\n$/s);
    const all = await home.run([...args, "--json"]);
    expect([all.errorOutput, JSON.parse(all.output).errors.length]).toEqual([refused, 1_501]);
    const script = lines(30, at => `use ${at}\nexport TOKEN_${at}=x\n`).join("");
    const noted = await home.run(["import", "-", "--format", "sh", "--repo", "shop", "--dry-run"], { input: script });
    expect(noted.errorOutput).toMatch(/Line 39 is.*\nAnd 10 more\.[^\n]*\nTOKEN_0 .*TOKEN_19 [^\n]*\nAnd 10 more\./s);
    expect(noted.errorOutput).not.toMatch(/Line 41 is|TOKEN_20 /);
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
    for (const line of [`SVC_DOMAIN="un`, `SVC_DOMAIN='two\nlines' x`, "SVC_DOMAIN"])
      await home.refuse(3, args, "Line 5 is", { input: `# one\n\nSVC_DOMAIN='two\r\nlines' # "\r\n${line}\n` });
    await home.refuse(2, ["import", "missing.json", "--repo", "shop"], "missing.json");
    const { code, errorOutput } = await home.run([...args, "--ignore-unknown"], { input });
    expect([code, errorOutput]).toEqual([0, "Left out, because there is no such field: PATH.\n"]);
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

describe.concurrent("repoconf import of what exists", () => {
  const env = [
    "# the shop",
    "export PORT=3000",
    'DATABASE_URL="postgres://shop:s3cret@db/shop"',
    "API_TOKEN='t0ken'",
    "MODE=debug",
    "HOST=\u0024{NAME}",
    "MODE=release # the last one",
    "STAMP=$(date)",
    "KEY=cmd://pass/key",
    "PIN=1234",
    "",
  ].join("\n");

  async function makePortShop(): Promise<CommandHome> {
    const home = await makeShop();
    await addScope(home, "app", {
      port: { type: "integer", default: 80, "x-env": "PORT" },
      token: { type: "string", default: "", "x-env": "API_TOKEN", "x-secret": true, "x-masked": true },
      pin: { type: "string", default: "", "x-env": "PIN", "x-secret": true },
    });
    await home.succeed(["set", "--repo", "shop", "svc.envvars.MODE=old", "svc.envvars.KEPT=1"]);
    await writeFile(join(home.workFolder, ".env"), env);
    return home;
  }

  test("more variables than there is room for are refused before any is put in its place", async () => {
    await using home = await makeShop();
    const many = Array.from({ length: 50_000 }, (_, index) => `V${index}=1\n`);
    await writeFile(join(home.workFolder, ".env"), many.join(""));
    await home.refuse(3, ["import", ".env", "--repo", "shop", "--yes"], "svc.envvars holds at most 262144 bytes");
    expect(await listStored(home, "shop")).toEqual({});
  });

  test("a variable becomes the field whose x-env it is, others join svc.envvars; one undo takes all of it back", async () => {
    await using home = await makePortShop();
    const before = await listStored(home, "shop");
    const preview = await home.run(["import", ".env", "--repo", "shop", "--dry-run"]);
    expect(preview.output.split("\n").slice(0, 8)).toEqual([
      "app.port: 80 (default) -> 3000",
      "app.token: •••••• (default) -> ••••••",
      'app.pin: "" (default) -> ••••••',
      "svc.envvars.DATABASE_URL: (none) -> ••••••",
      "svc.envvars.MODE: •••••• -> release",
      "svc.envvars.HOST: (none) -> \u0024{NAME}",
      "svc.envvars.STAMP: (none) -> $(date)",
      "svc.envvars.KEY: (none) -> cmd://pass/key",
    ]);
    const json = await home.run(["import", ".env", "--repo", "shop", "--dry-run", "--json"]);
    for (const { output, errorOutput } of [preview, json])
      expect(`${output}${errorOutput}`).not.toMatch(/s3cret|t0ken|1234/);
    for (const part of [
      "MODE is set in line 5 and in line 7",
      "Line 6: HOST refers to another variable",
      "app.token holds a secret, which would be in clear text",
      "DATABASE_URL looks like a secret",
      "STAMP has a command in its text",
      "KEY is a reference: programs get what the command pass of settings.json prints",
    ])
      expect([preview.errorOutput, JSON.parse(json.output).notes.join()]).toEqual(
        Array(2).fill(expect.stringContaining(part)),
      );
    expect(await listStored(home, "shop")).toEqual(before);

    const { output } = await home.run(["import", ".env", "--repo", "shop", "--yes"]);
    expect(output).toContain("Imported 4 fields into shop");
    expect(await listStored(home, "shop")).toEqual({
      app: { port: 3000, token: "t0ken", pin: "1234" },
      svc: {
        envvars: [
          { name: "MODE", value: "release" },
          { name: "KEPT", value: "1" },
          { name: "DATABASE_URL", value: "postgres://shop:s3cret@db/shop" },
          { name: "HOST", value: "\u0024{NAME}" },
          { name: "STAMP", value: "$(date)" },
          { name: "KEY", value: "cmd://pass/key" },
        ],
      },
    });
    await home.succeed(["undo", "--repo", "shop"]);
    expect(await listStored(home, "shop")).toEqual({ app: {}, ...(before as object) });
  });

  test("a key that may not see the variables that would stay cannot import others beside them", async () => {
    await using home = await makePortShop();
    const before = await listStored(home, "shop");
    const key = await home.run(["key", "create", "tool", "--write", "*", "--commands"]);
    const asKey = { input: "ADDED=yes\n", environment: { REPOCONF_API_KEY: key.output.trim() } };
    const given = ["import", "-", "--format", "dotenv", "--repo", "shop", "--yes"];
    await home.refuse(5, given, "may not see the value of svc.envvars", asKey);
    expect(await listStored(home, "shop")).toEqual(before);
    await home.succeed(["unset", "--repo", "shop", "svc.envvars"]);
    expect(await home.run(given, asKey)).toMatchObject({ code: 0 });
  });

  test("what repoconf env prints is imported as the same environment, from every format", async () => {
    await using home = await makePortShop();
    await home.succeed([
      "set",
      "--repo",
      "shop",
      `svc.envvars=[{"name":"A","value":"two\\n'lines'"},{"name":"B","value":"\\\\"}]`,
    ]);
    await addRepositories(home, "blog");
    for (const format of ["sh", "fish", "pwsh", "json"]) {
      const printed = await home.succeed(["env", "--repo", "shop", "--format", format]);
      const given = ["import", "-", "--format", format, "--repo", "blog", "--yes"];
      expect(await home.run(given, { input: printed })).toMatchObject({ code: 0 });
      expect(await home.succeed(["env", "--repo", "blog", "--format", format])).toBe(printed);
      await home.succeed(["undo", "--repo", "blog"]);
    }
  });

  test("a line that is not understood is named, and nothing is imported; UTF-16 is read by its mark", async () => {
    await using home = await makePortShop();
    const args = ["import", "new.env", "--repo", "shop", "--yes"];
    for (const [line, said] of [
      ['B="open', "Line 2 is not in the form"],
      ["my.name=x", "Line 2: my.name is no name of a variable"],
      ["PORT=many", "app.port must be an integer"],
    ] as const) {
      await writeFile(join(home.workFolder, "new.env"), `A=1\n${line}\n`);
      await home.refuse(3, args, said);
    }
    const told = JSON.parse((await home.run([...args, "--json"])).output);
    expect(told).toEqual({ errors: [expect.objectContaining({ code: 1103, field: "app.port" })] });
    expect(await home.json(["list", "--repo", "shop", "--stored", "--reveal"])).not.toHaveProperty("app");
    await writeFile(join(home.workFolder, "new.env"), Buffer.from("\uFEFFMODE=é\r\n", "utf16le"));
    await home.succeed(args);
    expect(await home.succeed(["get", "--repo", "shop", "svc.envvars.MODE", "--reveal"])).toBe("é\n");
  });

  test("a mapping says which places of a YAML, TOML or JSON file are which fields; our own files need none", async () => {
    await using home = await makePortShop();
    const mapping = {
      "/server/port": "app.port",
      "/server/hosts/0": "svc.envvars.HOST",
      "/limits/seconds": "svc.timeout",
      "/server/public": "svc.default_port",
      "/nothing": "svc.domain",
    };
    const files = {
      "map.json": JSON.stringify(mapping),
      "a.yaml": 'server: &s\n  port: "3000"\n  hosts: [web, db]\n  public: 8443\nlimits: {seconds: 30}\ncolor: red\n',
      "a.toml": '[server]\nport = 3000\nhosts = ["web"]\npublic = "8443"\n[limits]\nseconds = 30\n',
      ".repoconf.json": '{ "config": { "svc": { "timeout": 31 } } }',
      "plain.yaml": "svc:\n  timeout: 32\n",
      "large.yaml": "svc:\n  timeout: 12345678901234567890\n",
      "tagged.yaml": "svc:\n  domain: !secret x\n",
      "broken.toml": "[svc]\ntimeout = = 1\n",
      "dates.toml": "[svc]\ntimeout = inf\n",
    };
    for (const [name, content] of Object.entries(files)) await writeFile(join(home.workFolder, name), content);
    const importing = (file: string, ...more: string[]) => ["import", file, "--repo", "shop", "--yes", ...more];
    for (const file of ["a.yaml", "a.toml"]) {
      const { code, errorOutput } = await home.run(importing(file, "--map", "map.json"));
      expect([code, errorOutput]).toEqual([0, expect.stringContaining("/nothing of the mapping is not in the file")]);
      if (file === "a.yaml") expect(errorOutput).toContain("the mapping does not name it: /color.");
      const stored = { app: { port: 3000 }, svc: { timeout: 30, default_port: "8443" } };
      expect(await listStored(home, "shop")).toMatchObject(stored);
      expect(await home.succeed(["get", "--repo", "shop", "svc.envvars.HOST", "--reveal"])).toMatch(/web/);
      await home.succeed(["undo", "--repo", "shop"]);
    }
    await home.succeed(importing(".repoconf.json"));
    expect(await home.succeed(["get", "--repo", "shop", "svc.timeout"])).toBe("31\n");
    await home.succeed(importing("plain.yaml"));
    expect(await home.succeed(["get", "--repo", "shop", "svc.timeout"])).toBe("32\n");
    await home.refuse(1, importing("large.yaml"), "/svc/timeout");
    await home.refuse(1, importing("dates.toml"), "/svc/timeout");
    await home.refuse(1, importing("tagged.yaml"), "YAML: tagged.yaml, line 2, column 11");
    await home.refuse(1, importing("broken.toml"), "TOML: broken.toml, line 2");
    await home.refuse(2, importing(".env", "--map", "map.json"), "--map is for JSON, YAML and TOML");
    await home.refuse(2, importing("a.yaml", "--service", "web"), "--service is for compose files");
  });

  test("the libraries for YAML and TOML are loaded only for such files", async () => {
    await using home = await makePortShop();
    await writeFile(join(home.workFolder, "a.yaml"), "svc: {timeout: 30}\n");
    const loaded = async (file: string) => {
      const { code, errorOutput } = await home.run(["import", file, "--repo", "shop", "--dry-run"], {
        nodeArguments: reportLoaded,
      });
      expect(code).toBe(0);
      return [...sourcesIn(loadedBy(errorOutput).files)].filter(name => /^(yaml|smol-toml)$/.test(name));
    };
    expect([await loaded(".env"), await loaded("a.yaml")]).toEqual([[], ["yaml"]]);
  });
});
