import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { addRepositories, addScope, makeServedHome } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";

const inShop = () => ({ folder: join(home.workFolder, "shop") });
const shop = (...args: string[]) => home.succeed(args, inShop());

const home = await makeServedHome();
afterAll(() => home[Symbol.asyncDispose]());
await addRepositories(home, "shop", "web", "blog");

const port = { type: "object", properties: { port: { type: "integer" }, host: { type: "string" } } };
const portsSchema = { type: "array", items: port, uniqueItemProperties: ["port"], default: [] };

describe("a place inside a value", () => {
  test("can be set, added to, removed from, read and unset", async () => {
    expect(await shop("set", `svc.services.web={"ready":"true","image":"node:24"}`)).toBe(
      `Set svc.services.web = {"ready":"true","image":"node:24"}\n`,
    );
    expect(
      await shop(
        "set",
        "svc.services.web.image=node:25",
        "svc.proxy_aliases+=a.test",
        "svc.timeout=30",
        "svc.proxy_aliases+=b.test",
      ),
    ).toBe(
      "Set svc.timeout = 30\nSet svc.services.web.image = node:25\nAdded a.test to svc.proxy_aliases\nAdded b.test to svc.proxy_aliases\n",
    );
    expect(await shop("get", "svc.services.web.image")).toBe("node:25\n");
    await shop("set", "svc.proxy_aliases-=a.test", `svc.services."a.b"={"ready":"","image":"i"}`);
    expect(
      JSON.parse(await shop("get", "svc.services", "svc.proxy_aliases", `svc.services."a.b".image`, "--json")),
    ).toEqual({
      "svc.services": { web: { ready: "true", image: "node:25" }, "a.b": { ready: "", image: "i" } },
      "svc.proxy_aliases": ["b.test"],
      'svc.services."a.b".image': "i",
    });
    expect(await shop("unset", "svc.services.web", "svc.proxy_aliases.0", "svc.timeout")).toBe(
      "Unset; now svc.timeout = 900\nUnset svc.services.web\nUnset svc.proxy_aliases.0\n",
    );
    expect(await shop("get", "svc.services", "svc.proxy_aliases")).toBe(`{"a.b":{"ready":"","image":"i"}}\n[]\n`);
    await shop("unset", "svc.services", "svc.proxy_aliases");
  });

  test("has a history, an explanation, a watch and a search of its own, in every way to write it", async () => {
    await shop("set", `svc.services.api={"ready":"","image":"one"}`, `svc.services["c.d"]={"ready":"","image":"x"}`);
    await shop("set", "svc.services.api.image=two", "svc.proxy_aliases+=a.test", "svc.proxy_aliases+=b.test");
    await shop("set", `svc.services."c.d".image=y`, "svc.proxy_aliases[1]=c.test", "--reason", "newer");
    const changes = async (...args: string[]) => (await shop("history", ...args)).match(/(?<=^ {2}).*$/gm);
    const image = "svc.services.api.image";
    expect(await changes(image)).toEqual([`${image}: one -> two`, `${image}: (none) -> one`]);
    expect(await changes(image, "--limit", "1")).toHaveLength(1);
    expect((await changes(`svc.services["c.d"].image`))?.[0]).toBe('svc.services."c.d".image: x -> y');
    const [change] = JSON.parse(await shop("history", "svc.proxy_aliases[1]", "--json"));
    expect(change.changes.svc).toEqual({ "proxy_aliases.1": { value: "c.test", previous: "b.test", stored: true } });
    expect(await shop("explain", "svc.proxy_aliases[1]")).toMatch(
      /^svc\.proxy_aliases\.1 = c\.test\n.*reason {6}newer\n$/s,
    );
    expect(await shop("search", `field:svc.services."c.d".image=y`)).toContain("svc.services\t");
    using watch = home.start(["watch", image, "--since", "0"], inShop());
    await until(() => watch.output().includes("one -> two"), "the watch to tell of the place");
    expect(watch.output()).not.toMatch(/-> y|c\.test/);
    await shop("unset", "svc.services", "svc.proxy_aliases");
  });

  test("is explained with its own line and column, and its problem is told with them too", async () => {
    const ports = `"ports": [{"port": 81}, {"port": 82}]`;
    await addScope(home, "app", { ports: portsSchema });
    const { file } = JSON.parse(await shop("explain", "svc.timeout", "--json"));
    const { config: _, ...members } = JSON.parse(await readFile(file, "utf8"));
    const lines = [
      ...[
        `{${JSON.stringify(members).slice(1, -1)}, "config": {"app": {${ports}},`,
        `"svc": {"services": {`,
        `"web": {"ready": "", "image": "a"}},`,
      ],
      ...[`"timeout": 1, "envvars": [`, `{"name": "X", "value": "1"},`, `{"name": "Y", "value": "2"}]}}}`],
    ];
    await writeFile(file, lines.join("\n"));
    const textAt = async (place: string) => {
      const { line, column } = JSON.parse(await shop("explain", place, "--json", "--reveal"));
      return lines[line - 1]?.slice(column - 1, column + 9);
    };
    await until(async () => (await textAt("svc.timeout")) === `1, "envvar`, "the file to be read");
    expect(await textAt("svc.services.web")).toBe(`{"ready": `);
    expect(await textAt("svc.services.web.image")).toBe(`"a"}},`);
    expect(await textAt("svc.envvars.Y")).toBe(`"2"}]}}}`);
    expect(await textAt("svc.envvars[1]")).toBe(`{"name": "`);
    expect(await textAt("app.ports.82.port")).toBe("82}]},");
    // An invalid part has its own place too, in every command.
    await writeFile(file, lines.join("\n").replace(`"image": "a"`, `"image":\n5`));
    const seen = `svc.services.web.image must be a string, not a number; using its last valid value. (line 4, column 1)`;
    await until(async () => (await shop("explain", "svc.services")).includes(seen), "the problem");
    for (const args of [["explain", "svc.services.web.image"], ["doctor"]])
      expect((await home.run(args, inShop())).output, args[0]).toMatch(/line 4, column 1|json:4:1/);
    await shop("unset", "svc.services", "svc.envvars", "svc.timeout", "app.ports");
  });

  test("that has nothing to take away is told so, and nothing changes", async () => {
    const revision = async () => JSON.parse(await shop("get", "--with-revision", "--json", "svc.timeout")).revision;
    const [add, remove] = ["svc.proxy_aliases+=m.test", "svc.proxy_aliases-=m.test"];
    expect(await shop("set", add, remove, remove)).toMatch(/^Added m.*\nRemoved m.*\nNothing to remove: .*\n$/);
    const before = await revision();
    expect(await shop("set", "svc.proxy_aliases-=b.test")).toMatch(
      /^Nothing to remove: .* does not contain b\.test\n$/,
    );
    expect(await shop("unset", "svc.proxy_aliases[4]", "svc.proxy_http")).toBe(
      "Nothing to unset: svc.proxy_http has its default, true\nNothing to unset: there is no value at svc.proxy_aliases.4\n",
    );
    expect(await revision()).toBe(before);
  });

  test("an item is addressed by the property that is unique in its list", async () => {
    await shop("set", `svc.envvars=[{"name":"A","value":"1"},{"name":"B","value":"2"}]`);
    expect(await shop("set", "svc.envvars.B=3", "svc.envvars.C={}", `svc.envvars+={"name":"A","value":"4"}`)).toBe(
      `Set svc.envvars.B.value = ••••••\nSet svc.envvars.C.value = ••••••\nReplaced the item of that name in svc.envvars with {"name":"A","value":"••••••"}\n`,
    );
    expect(
      await shop("get", "--reveal", "svc.envvars.A", "svc.envvars.B.value", "svc.envvars.C", "svc.envvars.2"),
    ).toBe(`4\n3\n{}\n{"name":"C","value":"{}"}\n`);
    await shop("set", "svc.envvars-=A");
    await shop("unset", "svc.envvars.C");
    expect(await shop("get", "--reveal", "svc.envvars")).toBe(`[{"name":"B","value":"3"}]\n`);
    await home.refuse(3, ["get", "--reveal", "svc.envvars.A"], "There is no value at svc.envvars.A.", inShop());
    await shop("unset", "svc.envvars");
  });

  test("a number is the name of an item, and in brackets its index", async () => {
    await addScope(home, "app", { ports: portsSchema });
    await shop("set", `app.ports=[{"port":81,"host":"a"},{"port":82,"host":"b"}]`);
    expect(await shop("set", "app.ports[0].host=zero", `app.ports["82"].host=b`, "app.ports.83.host=c")).toBe(
      "Set app.ports[0].host = zero\nSet app.ports.82.host = b\nSet app.ports.83.host = c\n",
    );
    expect(await shop("get", "app.ports[0]", "app.ports[2].port")).toBe(`{"port":81,"host":"zero"}\n83\n`);
    expect(await shop("unset", "app.ports[2]")).toBe("Unset app.ports[2]\n");
    const beyond = "app.ports has 2 items and no item [2]; a new one is addressed by its port";
    await home.refuse(3, ["set", "app.ports[2].host=x"], beyond, inShop());
    await home.refuse(3, ["set", "app.ports.82.host:=1"], "app.ports.82.host must be a string", inShop());
  });

  test("several values are printed with their revision", async () => {
    const revision = (await shop("set", "svc.timeout=5", "--json")).match(/"revision": (\d+)/)?.[1];
    expect(await shop("get", "--with-revision", "svc.timeout", "svc.domain")).toBe(`${revision}\n5\n\n`);
    expect(JSON.parse(await shop("get", "--with-revision", "--json", "svc.timeout", "svc.domain"))).toEqual({
      revision: Number(revision),
      values: { "svc.timeout": 5, "svc.domain": "" },
    });
  });

  test.each([
    [
      "one that the value does not allow",
      ["set", "svc.services.web.image=x"],
      3,
      `svc.services.web lacks the member "ready"`,
    ],
    ["one in a text", ["set", "svc.provider.x=1"], 3, "svc.provider is neither an object nor a list"],
    ["one in brackets that are not closed", ["get", "svc.services[web"], 2, "is not a place inside svc.services"],
    [
      "a place to explain that has no value",
      ["explain", "svc.services.nope"],
      3,
      "There is no value at svc.services.nope",
    ],
    ["a list where there is none", ["set", "svc.timeout+=5"], 3, "svc.timeout is not a list"],
    ["a place to find that is no place", ["search", 'field:svc.services."b'], 2, "is not a place inside svc.services"],
    ["a dot at the end", ["search", "field:svc.services."], 2, "is not a place inside svc.services"],
    ["a field to find that is not there", ["search", "field:svc.servces=x"], 3, `Did you mean "svc.services"?`],
    ["nothing to get", ["get", "svc.services.nope"], 3, "There is no value at svc.services.nope"],
    ["a field that is not there", ["set", "svc.servces.web.image=x"], 3, `Did you mean "svc.services"?`],
    ["a place that is given twice", ["set", "svc.services.web.image=x", "svc.services.web.image=y"], 2, "given twice"],
    [
      "a place and all of it",
      ["set", "svc.services={}", "svc.services.web.image=y"],
      2,
      "cannot be set in the same command",
    ],
    ["several lines among several values", ["get", "svc.timeout", "svc.provider"], 1, "several lines"],
  ])("is refused with a next step: %s", async (_title, args, code, message) => {
    await shop("set", "svc.provider=one\ntwo");
    await home.refuse(code, args, message, inShop());
  });
});

describe("several repositories at once", () => {
  test("can be named or found by a query; each line names its repository", async () => {
    const lines = async (...args: string[]) => (await home.succeed([...args, "--yes"])).split("\n").toSorted();
    const undo = expect.stringMatching(/^To undo this in all 2 repositories: repoconf undo --batch [0-9a-f]{24}$/);
    expect(await lines("set", "--repo", "shop", "--repo", "web", "svc.domain=d")).toEqual([
      "",
      undo,
      "shop: Set svc.domain = d",
      "web: Set svc.domain = d",
    ]);
    expect(await lines("unset", "--where", "field:svc.domain=d", "svc.domain")).toEqual([
      "",
      undo,
      `shop: Unset; now svc.domain = ""`,
      `web: Unset; now svc.domain = ""`,
    ]);
    const json = await home.json(["set", "--where", "repo:*", "svc.timeout=7", "--yes"]);
    expect(json.repositories).toHaveLength(3);
    expect(json.errors).toBeUndefined();
  });

  test.each([
    ["none is found", ["set", "--where", "nothingatall", "svc.timeout=1"], 1, "No repository matches"],
    ["both ways at once", ["set", "--where", "a", "--repo", "shop", "svc.timeout=1"], 2, "not both"],
    [
      "a revision of several",
      ["set", "--repo", "shop", "--repo", "web", "--if-revision", "1", "svc.timeout=1"],
      2,
      "a single repository",
    ],
  ])("is refused: %s", async (_title, args, code, message) => {
    await home.refuse(code, args, message);
  });
});

test("a repository is found by its name in any of its Unicode forms", async () => {
  await mkdir(join(home.workFolder, "cafe\u0301"));
  await home.succeed(["repo", "add", "cafe\u0301"]);
  for (const name of ["caf\u00e9", "cafe\u0301"])
    expect(await home.succeed(["get", "--repo", name, "svc.refresh_hour"])).toBe("4\n");
});

test("-C runs a command as if in that folder, with any other options", async () => {
  await shop("set", "svc.timeout=9");
  expect(await home.succeed(["-C", "shop", "get", "svc.timeout"])).toBe("9\n");
  expect(await home.succeed(["--json", "-C", "shop", "get", "svc.timeout"])).toBe("9\n");
  await writeFile(join(home.workFolder, "shop", "value.txt"), "here\n");
  expect(await home.succeed(["-C", "shop", "set", "svc.provider=@value.txt"])).toBe("Set svc.provider = here\n");
  await shop("unset", "svc.provider");
  await home.refuse(2, ["-C", "nowhere", "get", "svc.timeout"], "given with -C");
});
