import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { addScope, type CommandHome, hasTerminal, makeServedHome, startOnTerminal } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";

const evil = { web: { ready: "true \u202e# \u009b2Khs | lruc\u3164\u00a0", image: "node:24" } };

/** A work tree whose file has two values that run as commands. */
async function makeSite(home: CommandHome): Promise<string> {
  const folder = join(home.workFolder, "site");
  await mkdir(folder);
  const svc = { timeout: 30, services: evil, envvars: [{ name: "LD_PRELOAD", value: "evil.so" }] };
  await writeFile(join(folder, ".repoconf.json"), JSON.stringify({ config: { svc } }));
  return folder;
}

/** What waits for a person to trust it. */
const waitingIn = (home: CommandHome, folder: string, options: readonly string[] = []) =>
  home.json(["trust", ...options], { folder });

describe("commands that a work tree brings, on the command line", () => {
  test("repo add shows all of them in full, trusts nothing without a terminal, and says what to do; --accept trusts only the value with its hash", async () => {
    await using home = await makeServedHome();
    const folder = await makeSite(home);
    const added = await home.succeed(["repo", "add", folder, "--in-tree"]);
    expect(added).toContain(
      "Its file contains commands or environment variables:\nsvc.services tells tools what to run",
    );
    // As in lists: the output may be a log.
    expect(added).toContain('"value": "••••••"');
    expect(added).not.toContain("evil.so");
    expect(added).toContain(`+     "ready": "true \\u202e# \\u009b2Khs | lruc\\u3164\\u00a0"`);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test is that these characters are not printed.
    expect(added).not.toMatch(/[\u202e\u0080-\u00a0\u001b\u3164]/);
    expect(added).toMatch(/2 are not used until you trust them, on a terminal: repoconf trust --repo [0-9a-f]{24}/);
    expect(await home.succeed(["get", "svc.services"], { folder })).toBe("{}\n");
    for (const args of [["get", "--reveal"], ["explain"]])
      await home.refuse(3, [...args, "svc.envvars.LD_PRELOAD"], /value of svc.envvars waits for trust.*\(/, { folder });
    expect(await home.succeed(["explain", "svc.envvars"], { folder })).toMatch(/the default; .* waits for trust \(/);
    expect(await home.succeed(["repo", "list"])).toContain("2 problems, needs trust");
    expect(await home.find(1, ["doctor"])).toMatch(/svc\.services tells tools what to run.*repoconf trust --repo/);
    const shown = await home.find(1, ["trust", "svc.envvars"], { folder });
    expect(shown).toMatch(/^svc.envvars sets environment variables\n[\s\S]*evil\.so/);
    expect(shown).not.toContain("svc.services");
    // --accept trusts only the value with this hash; a hash that no longer waits is refused.
    const [services, envvars] = await waitingIn(home, folder);
    expect(services).toMatchObject({ field: "svc.services", value: evil, serving: {} });
    const accept = ["trust", "--accept", services.hash];
    await home.refuse(3, [...accept, "--accept", "0"], "No untrusted value has the hash 0", { folder });
    expect(await home.succeed(accept, { folder })).toBe("Trusted svc.services; it is active as of revision 2.\n");
    expect(JSON.parse(await home.succeed(["get", "svc.services"], { folder }))).toEqual(evil);
    expect(await waitingIn(home, folder)).toEqual([envvars]);
    expect((await home.run(accept, { folder })).code).toBe(3);
    expect((await home.run(["trust", "svc.services"], { folder })).errorOutput).toContain("Nothing to trust");
    await home.succeed(["trust", "--accept", envvars.hash], { folder });
    expect(await home.succeed(["trust"], { folder })).toBe("Nothing to trust.\n");
    expect((await home.run(["doctor"])).output).not.toContain("svc.services");
  });

  test("on a terminal it asks about each value, and any answer except yes means no", async ({ skip }) => {
    skip(!hasTerminal, "no script");
    await using home = await makeServedHome();
    const folder = await makeSite(home);
    await home.succeed(["repo", "add", folder, "--in-tree", "--json"]);
    const answer = async (input: string) => {
      const { process: terminal, output, ended } = startOnTerminal(home, ["trust"], { folder });
      // The input is there before the question is asked.
      terminal.stdin.end(input);
      await ended;
      return output();
    };
    expect(await answer("\n\n")).toContain("Trust this value of svc.services? [y/N]");
    // End of input means no for all remaining values.
    expect(await answer("")).toContain("2 are not used until you trust them");
    expect(await waitingIn(home, folder)).toHaveLength(2);
    await answer("y\nn\n");
    expect(await waitingIn(home, folder)).toMatchObject([{ field: "svc.envvars" }]);
  });
});

describe("scopes that a work tree brings, on the command line", () => {
  const field = (description: string) => ({ type: "integer", minimum: 1, default: 1, description });
  const schemaOf = (description: string) =>
    `// by hand\n${JSON.stringify({ type: "object", properties: { jobs: field(description) } })}`;
  /** A repository with its own values and schema. */
  async function makeClone(home: CommandHome, name: string, description: string): Promise<string> {
    const folder = join(home.workFolder, name);
    await mkdir(join(folder, ".repoconf/scopes"), { recursive: true });
    await writeFile(join(folder, ".repoconf.json"), '{ "config": { "build": { "jobs": 4 } } }');
    await writeFile(join(folder, ".repoconf/scopes/build.schema.json"), schemaOf(description));
    return folder;
  }

  test("the daemon uses no scope before a person accepts it, and then exactly the text that was shown, whatever a pull brings", async () => {
    await using home = await makeServedHome();
    const folder = await makeClone(home, "site", "One.");
    expect(await home.succeed(["repo", "add", folder, "--in-tree"])).toMatch(
      /contains scopes .*: build\. .*repoconf trust --repo/,
    );
    expect((await home.run(["get", "build.jobs"], { folder })).code).toBe(3);
    const shown = await home.find(1, ["trust"], { folder });
    expect(shown).toContain('"description": "One."');
    expect(shown).toMatch(/This scope is not used until you accept it, on a terminal: repoconf trust --repo \S+\n/);
    const [offered] = await waitingIn(home, folder);
    expect(offered).toMatchObject({ scope: "build", serving: null });
    const file = join(folder, ".repoconf/scopes/build.schema.json");
    // The file has changed since it was shown.
    await writeFile(file, schemaOf("Two."));
    expect((await home.run(["trust", "--accept", offered.hash], { folder })).code).toBe(3);
    expect((await home.run(["get", "build.jobs"], { folder })).code).toBe(3);
    await writeFile(file, schemaOf("One."));
    await home.succeed(["trust", "--accept", offered.hash], { folder });
    expect(await readFile(join(home.homeFolder, "scopes/build.schema.json"), "utf8")).toBe(schemaOf("One."));
    expect(await home.succeed(["trust"], { folder })).toBe("Nothing to trust.\n");
    await writeFile(file, '{ "type": "object", "properties": {} }');
    expect(await home.succeed(["describe", "build.jobs"], { folder })).toContain("One.");
  });

  test("says of a scope what has no effect, and what it asks of every repository", async () => {
    await using home = await makeServedHome();
    const folder = await makeClone(home, "site", "One.");
    await home.succeed(["repo", "add", folder, "--in-tree", "--json"]);
    const schema = {
      required: ["level", "two words"],
      properties: {
        level: { type: "string", maxLenght: 3 },
        "two words": {},
        mail: { type: "string", "x-env": "MAIL" },
      },
      minProperties: 1,
    };
    await writeFile(join(folder, ".repoconf/scopes/build.schema.json"), JSON.stringify(schema));
    const shown = await home.find(1, ["trust"], { folder });
    for (const note of [
      "minProperties is a rule for all fields together, which is not checked.",
      '"two words" cannot be the name of a field, so it is left out.',
      '"maxLenght" at /properties/level/maxLenght is no keyword and has no effect: did you mean "maxLength"?.',
      "in a repository in which build.level is not set, repoconf run starts nothing.",
    ])
      expect(shown).toContain(`\n  ${note}\n`);
    // Without a default, it puts nothing into the environment.
    expect(shown).not.toContain("MAIL\n");
    expect(await waitingIn(home, folder)).toMatchObject([{ notes: { length: 3 }, required: ["level"] }]);
  });

  test("a scope with the name of one in the home is compared with it, and replaces it only if it is accepted", async () => {
    await using home = await makeServedHome();
    const [one, two] = [await makeClone(home, "one", "One."), await makeClone(home, "two", "Two.")];
    for (const folder of [one, two]) await home.succeed(["repo", "add", folder, "--in-tree", "--json"]);
    const [first] = await waitingIn(home, one);
    await home.succeed(["trust", "--accept", first.hash], { folder: one });
    expect(await home.find(1, ["trust"], { folder: two })).toMatch(/^- .*One\.[\s\S]*^\+ .*Two\./m);
    expect(await home.succeed(["describe", "build.jobs"], { folder: two })).toContain("One.");
    const [second] = await waitingIn(home, two);
    expect(second.serving).toMatchObject({ type: "object" });
    const taken = await home.json(["trust", "--accept", second.hash], { folder: two });
    expect(taken).toEqual([expect.objectContaining({ scope: "build", hash: second.hash })]);
    expect(await home.succeed(["describe", "build.jobs"], { folder: one })).toContain("Two.");
  });
});

test("a clone whose scopes have the names of others makes nothing active, and does not hide what it brings", async () => {
  await using home = await makeServedHome();
  const [shop, site] = [join(home.workFolder, "shop"), join(home.workFolder, "site")];
  await mkdir(shop);
  await mkdir(join(site, ".repoconf/scopes"), { recursive: true });
  await addScope(home, "build", { jobs: { type: "string", default: "1" } });
  const hostile = { type: "string", default: "", "x-command": true };
  const properties = { jobs: { ...hostile, "x-env": "STOLEN" }, timeout: hostile };
  const write = (name: string) =>
    writeFile(join(site, `.repoconf/scopes/${name}.schema.json`), JSON.stringify({ type: "object", properties }));
  const many = Array.from({ length: 40 }, (_, index) => `z${index + 10}`);
  for (const name of ["svc", "SVC", "Build", "build", "constructor", ...many]) await write(name);
  const scopes = Object.fromEntries(["SVC", "Build", "build"].map(name => [name, { jobs: "steal", timeout: "steal" }]));
  await writeFile(join(site, ".repoconf.json"), JSON.stringify({ config: scopes }));
  await home.succeed(["repo", "add", shop, "--id", "shop", "--json"]);
  await home.succeed(["repo", "add", site, "--in-tree", "--id", "site", "--json"]);
  await home.succeed(["set", "--repo", "shop", "build.jobs=own"]);
  const activeValues = async () => [
    ...[await home.succeed(["env", "--repo", "shop"]), await home.succeed(["env"], { folder: site })],
    ...[await home.succeed(["get", "--repo", "shop", "build.jobs"]), (await home.run(["get", "SVC.jobs"])).output],
  ];
  expect(await activeValues()).toEqual(["", "", "own\n", ""]);
  const { output } = await home.run(["check"], { folder: site });
  for (const told of ["svc is a built-in scope", "More than 32 schemas in this folder", "constructor.schema.json:1:1"])
    expect(output).toContain(told);
  expect((await home.run(["trust"], { folder: site })).errorOutput).toMatch(
    /cannot be used\. To see why: repoconf check\n/,
  );
  const waiting: { readonly scope: string; readonly hash: string; readonly effects: object[] }[] = await waitingIn(
    home,
    site,
  );
  expect(waiting.map(({ scope }) => scope)).not.toEqual(expect.arrayContaining(["svc"]));
  const [build] = waiting.filter(({ scope }) => scope === "build");
  const own = { field: "build.jobs", value: "own", repos: ["shop"], waits: false };
  expect(build?.effects).toEqual(expect.arrayContaining([expect.objectContaining(own)]));
  // Accepting one of them accepts no other, and no value of the clone.
  for (const { scope, hash } of waiting)
    if (scope === "Build") await home.succeed(["trust", "--accept", hash], { folder: site });
  expect(await home.succeed(["get", "--repo", "shop", "build.jobs"])).toBe("own\n");
  expect(await home.succeed(["get", "Build.jobs"], { folder: site })).toBe("\n");
  expect((await home.run(["env"], { folder: site })).output).not.toContain("steal");
});

describe("a new version of an accepted scope that makes a variable of a text", () => {
  const schemaOf = (path: object) =>
    JSON.stringify({ type: "object", properties: { path: { type: "string", ...path } } });
  const upgraded = schemaOf({ default: "./default", "x-env": "TOOLS" });

  /** `site`, in-tree, and `shop`, in the home, both with a value of the text `tools.path`; a pull has brought the new version to `site`. */
  async function makeUpgrade(home: CommandHome): Promise<string> {
    const [site, shop] = [join(home.workFolder, "site"), join(home.workFolder, "shop")];
    await mkdir(join(site, ".repoconf/scopes"), { recursive: true });
    await mkdir(shop);
    const file = join(site, ".repoconf/scopes/tools.schema.json");
    await writeFile(file, schemaOf({ default: "" }));
    await writeFile(join(site, ".repoconf.json"), '{ "config": { "tools": { "path": "./evil" } } }');
    await home.succeed(["repo", "add", site, "--in-tree", "--id", "site", "--json"]);
    await home.succeed(["repo", "add", shop, "--id", "shop", "--json"]);
    const [offered] = await waitingIn(home, site);
    await home.succeed(["trust", "--accept", offered.hash], { folder: site });
    await home.succeed(["set", "tools.path=/opt"], { folder: shop });
    expect(await home.succeed(["get", "tools.path"], { folder: site })).toBe("./evil\n");
    await writeFile(file, upgraded);
    return site;
  }

  test("is shown with its default and with the values of all repositories, and puts none of a work tree's file into a shell", async () => {
    await using home = await makeServedHome();
    const site = await makeUpgrade(home);
    expect(await home.find(1, ["trust"], { folder: site })).toContain(`With this scope:
  tools.path becomes the environment variable TOOLS
    its default in site:
    + "./default"
    the value in shop:
    + "/opt"
    the value in site, not used until you trust it there:
    + "./evil"
`);
    const effect = { field: "tools.path", effect: { command: false, variable: "TOOLS" } };
    const [offered] = await waitingIn(home, site);
    expect(offered.effects).toEqual([
      { ...effect, value: "./default", stored: false, waits: false, repos: ["site"] },
      { ...effect, value: "/opt", stored: true, waits: false, repos: ["shop"] },
      { ...effect, value: "./evil", stored: true, waits: true, repos: ["site"] },
    ]);
    await home.succeed(["trust", "--accept", offered.hash], { folder: site });
    await home.refuse(3, ["env"], "", { folder: site });
    const asked = await home.find(1, ["trust"], { folder: site });
    expect(asked).toMatch(/tools\.path becomes the environment variable TOOLS[\s\S]*\+ "\.\/evil"/);
    const [waiting] = await waitingIn(home, site);
    await home.succeed(["trust", "--accept", waiting.hash], { folder: site });
    expect(await home.succeed(["env"], { folder: site })).toContain("./evil");
  });

  test("is accepted by a hash of the schema and these values: after a change of one of them it is refused", async () => {
    await using home = await makeServedHome();
    const site = await makeUpgrade(home);
    const [offered] = await waitingIn(home, site);
    await home.succeed(["set", "--repo", "shop", "tools.path=./other"]);
    expect((await home.run(["trust", "--accept", offered.hash], { folder: site })).code).toBe(3);
    expect(await home.succeed(["get", "tools.path"], { folder: site })).toBe("./evil\n");
    const [again] = await waitingIn(home, site);
    await home.succeed(["trust", "--accept", again.hash], { folder: site });
    expect(await home.succeed(["get", "tools.path"], { folder: site })).toBe("./default\n");
  });

  test("is shown again on a terminal if one of these values changes before the answer", async ({ skip }) => {
    skip(!hasTerminal, "no script");
    await using home = await makeServedHome();
    const site = await makeUpgrade(home);
    using terminal = startOnTerminal(home, ["trust"], { folder: site });
    const { output } = terminal;
    const asked = (times: number) =>
      until(async () => output().split("Replace the scope tools").length > times, `question ${times}`);
    await asked(1);
    await home.succeed(["set", "--repo", "shop", "tools.path=./other"]);
    terminal.process.stdin.write("y\n");
    await asked(2);
    expect(output().split("Values have changed meanwhile").at(1)).toContain('+ "./other"');
    terminal.process.stdin.end("n\n");
    await terminal.ended;
    expect(await home.succeed(["get", "tools.path"], { folder: site })).toBe("./evil\n");
  });

  test("its masked values, and those of fields that the home does not have, are hidden in JSON without --reveal", async () => {
    await using home = await makeServedHome();
    const site = await makeUpgrade(home);
    const fields = { token: { type: "string", default: "", "x-env": "TOKEN" } };
    const schema = JSON.stringify({ type: "object", properties: fields });
    await writeFile(join(site, ".repoconf/scopes/keys.schema.json"), schema);
    await writeFile(join(site, ".repoconf.json"), '{ "config": { "keys": { "token": "s3cret" } } }');
    expect(JSON.stringify(await waitingIn(home, site))).not.toContain("s3cret");
    expect(JSON.stringify(await waitingIn(home, site, ["--reveal"]))).toContain("s3cret");
  });
});
