import { readFile } from "node:fs/promises";
import { afterAll, expect, test } from "vitest";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { openRawWebSocket } from "../../helpers/raw-websocket.ts";
import { saveByRename } from "../../helpers/shop.ts";

const whole = { type: "integer", default: 0 };
const schema = {
  type: "object",
  properties: {
    count: whole,
    ratio: { type: "number", default: 0 },
    list: { type: "array", items: whole, default: [] },
    text: { type: ["string", "integer"], default: "" },
  },
};

const t = await startTestDaemon({ files: { "scopes/num.schema.json": schema } });
afterAll(() => t[Symbol.asyncDispose]());

const storedIn = async (repo: string) =>
  (await t.owner.call("config/list", { repo, stored: true })).result["num"] ?? {};

test.each([
  ["a whole number", '"num.ratio":9007199254740993', "num.ratio"],
  ["a negative one", '"num.ratio":-9007199254740993', "num.ratio"],
  ["one with a fraction of zeros", '"num.ratio":9007199254740993.0', "num.ratio"],
  ["one in a list", '"num.list":[1,9007199254740993]', "num.list"],
  ["one behind quotes", String.raw`"num.text":"\"","num.count":9007199254740993`, "num.count"],
  ["one that is too large for any number", '"num.ratio":1e400', "num.ratio"],
])("%s that a message would lose digits of is refused with its field, and nothing is set", async (_, member, field) => {
  const repo = await t.addRepository();
  using socket = await openRawWebSocket(t.url, t.ownerKey);
  const ask = (members: string) => socket.ask(`["svc","config","set",{"repo":"${repo}",${members}}]`);
  expect(await ask(member)).toMatchObject({
    result: [],
    errors: [{ code: 1101, field, message: expect.stringContaining(`in ${field} is too large, or is a whole number`) }],
  });
  expect(await storedIn(repo)).toEqual({});
  expect(await ask('"num.ratio":1e300,"num.text":"9007199254740993","num.count":9007199254740991')).toMatchObject({
    errors: [],
  });
  expect(await storedIn(repo)).toEqual({ ratio: 1e300, text: "9007199254740993", count: 9007199254740991 });
});

test("a number in an edit, or of a request with another purpose, is refused too", async () => {
  const repo = await t.addRepository();
  using socket = await openRawWebSocket(t.url, t.ownerKey);
  const edit = '{"field":"num.list","op":"add","value":9007199254740993}';
  const draft = `{"repo":"${repo}","field":"num.count","value":9007199254740993}`;
  for (const request of [`"config","set",{"repo":"${repo}","edits":[${edit}]}`, `"draft","set",{"drafts":[${draft}]}`])
    expect(await socket.ask(`["svc",${request}]`)).toMatchObject({ errors: [{ code: 1101 }] });
});

test("a field of whole numbers refuses one that a client may have rounded itself", async () => {
  const repo = await t.addRepository();
  const { result, errors } = await t.owner.call("config/set", {
    repo,
    "num.count": 2 ** 53,
    "num.text": -(2 ** 53),
    "num.list": [2 ** 53 - 1],
    "num.ratio": 2 ** 60,
  });
  expect(errors).toMatchObject([
    {
      code: 1103,
      field: "num.count",
      message: expect.stringMatching(
        /^num\.count must be a whole number from -9007199254740991 to 9007199254740991, .* store it as text/,
      ),
      details: { path: "", rule: "type", given: "number" },
    },
    { code: 1103, field: "num.text" },
  ]);
  expect(Object.keys(result[0]?.config["num"] ?? {})).toEqual(["list", "ratio"]);
  // It was written as its digits, which can be read again.
  await t.restart();
  expect(await storedIn(repo)).toEqual({ list: [2 ** 53 - 1], ratio: 2 ** 60 });
});

test("in a file edited by hand: health names field, line and column, the last valid value stays active, the file as it is", async () => {
  const repo = await t.addRepository();
  await t.owner.call("config/set", { repo, "num.count": 7, flush: true });
  const text = '{\n  // by hand\n  "config": { "num": { "count": 9007199254740993 } }\n}\n';
  await t.writeRepository(repo, text);
  const health = async () => (await t.owner.call("repo/list", { repo })).result[0]?.health;
  const message = expect.stringMatching(/the number at config\.num\.count would be rounded, .* store it as text/);
  const expected = [{ code: 1106, message, line: 3, column: 33 }];
  await until(async () => (await health())?.length === 1, "the problem");
  for (const isAgain of [false, true]) {
    if (isAgain) await t.restart();
    expect(await storedIn(repo)).toEqual({ count: 7 });
    expect(await health()).toEqual(expected);
    expect((await t.owner.call("config/set", { repo, "num.ratio": 1 })).errors).toMatchObject([{ code: 1106 }]);
    expect(await readFile(t.repositoryFile(repo), "utf8")).toBe(text);
  }
  await t.writeRepository(repo, text.replace("9007199254740993", "9007199254740991"));
  await until(async () => (await health())?.length === 0, "the end of the problem");
  expect(await storedIn(repo)).toEqual({ count: 9007199254740991 });
});

test.each([
  ["default", '{ "type": "number", "default": 9007199254740993 }'],
  ["enum", '{ "enum": [0, 9007199254740993], "default": 0 }'],
  ["minimum", '{ "type": "number", "minimum": -9007199254740993, "default": 0 }'],
])("a scope's file with such a number as %s is not used, and the problem says where", async (keyword, field) => {
  const file = `${t.homeFolder}/scopes/bad.schema.json`;
  await saveByRename(file, `{ "type": "object",\n"properties": { "a": ${field} } }`);
  const problems = async () => (await t.owner.call("daemon/status")).result.problems ?? [];
  const isSaid = (problem: string) =>
    problem.includes(`properties.a.${keyword}`) && problem.includes("would be rounded");
  await until(async () => (await problems()).some(isSaid), "the problem");
  expect((await problems()).find(isSaid)).toMatch(/line 2, column \d+/);
  expect((await t.owner.call("scope/list")).result.map(({ scope }) => scope)).not.toContain("bad");
});
