import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "vitest";
import type { JsonValue } from "../../shared/json.ts";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { judge } from "../helpers/promise.ts";
import { rawRequest } from "../helpers/raw-http.ts";
import { openRawWebSocket } from "../helpers/raw-websocket.ts";
import { screenFolder } from "../helpers/screen.ts";
import { healthOf, saveByRename } from "../helpers/shop.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

/** Names that might lead out of a folder, to a device or into a prototype, or crash code that walks them. */
const hostile = [
  ...String.raw`../outside ../../outside ..\outside repos/../../outside /etc/passwd C:\Windows\win.ini \\server\share`.split(
    " ",
  ),
  ..."file:///etc/passwd %2e%2e%2foutside ..%00 .. . ~ ~root $HOME * ? - --help CON NUL.json COM1 con: shop:stream".split(
    " ",
  ),
  ..."shop.json shop/ shop. __proto__ __proto__.polluted constructor.prototype constructor prototype".split(" "),
  ..."hasOwnProperty toString \u202eshop ｓｈｏｐ {} null".split(" "),
  ...["", " ", "shop ", "shop\0", "shop\0.json", "line\nbreak", "a".repeat(65), "a".repeat(5_000)],
  ...["$(touch outside)", "`touch outside`", ";touch outside", "|touch outside"],
];

/** Everything that must be the same before and after each attempt. */
async function surroundings(folder: string): Promise<JsonValue> {
  const beside = (await readdir(folder)).sort();
  const sentinel = await readFile(join(folder, "outside.json"), "utf8");
  const members = [Object.prototype, Array.prototype, Function.prototype].map(one =>
    Object.getOwnPropertyNames(one).sort(),
  );
  return { beside, sentinel, members, polluted: String(Reflect.get({}, "polluted")) };
}

/** The polluting member as sent over the wire: JSON.parse makes `__proto__` a real member. */
const polluting = `{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}}}`;
/** A service with that name, which the schema would accept. */
const service = `{"__proto__":{"ready":"true","image":"web:1"}}`;

test("S9 names cannot leave their folder or touch a prototype: by every argument, file name and path", async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, "outside.json"), `{"config":{"svc":{"domain":"from-outside.test"}}}`);
  await using t = await startTestDaemon({ home: join(folder.path, "home"), screenFolder });
  await t.addRepository("shop");
  const before = await surroundings(folder.path);
  const wrong: string[] = [];
  let tried = 0;
  const check = async (what: string, reply: unknown) => {
    tried++;
    const text = JSON.stringify(reply);
    if (/from-outside|root:|"code":(1500|1108)/.test(text)) wrong.push(`${what}: ${text.slice(0, 200)}`);
  };
  const emit = (name: string, args: object) => t.owner.emit("svc", ...name.split("/"), args);
  for (const name of hostile) {
    const shown = JSON.stringify(name).slice(0, 60);
    const calls: readonly (readonly [string, object])[] = [
      ..."config/list config/explain config/watch history/list history/forget repo/remove file/read file/restore"
        .split(" ")
        .map(operation => [operation, { repo: name, field: "svc.timeout" }] as const),
      ["config/set", { repo: name, "svc.timeout": 1 }],
      ["config/set", { repo: [name], revision: { [name]: 1 }, "svc.timeout": 1 }],
      ["config/unset", { repo: name, fields: ["svc.timeout"] }],
      ["config/set", { repo: "shop", [`svc.${name}`]: 1 }],
      ["config/set", { repo: "shop", [`${name}.timeout`]: 1 }],
      ["config/set", { repo: "shop", "svc.default": name }],
      ["config/list", { repo: "shop", scope: name, field: name }],
      ["config/unset", { repo: "shop", fields: [name, `svc.${name}`] }],
      ["history/restore", { repo: name, to: 1 }],
      ["repo/update", { repo: name, name: "n" }],
      ["file/write", { repo: name, text: "{}", expected: null }],
      ["config/search", { query: name }],
      ["repo/find", { path: name }],
      ["config/hook", { path: name, shell: "bash" }],
      ["config/set", { path: `/${name}`, "svc.timeout": 1 }],
      ["key/create", { name, grants: [{ repos: [name], fields: [name], right: "read" }] }],
    ];
    for (const [operation, args] of calls) await check(`${operation} ${shown}`, await emit(operation, args));
    // "" counts as omitted; a valid id makes a file of that name, and no other.
    const added = await emit("repo/add", { name: "n", id: name });
    await check(`repo/add ${shown}`, added);
    if (name !== "" && added.errors.length === 0) {
      const there = await readdir(join(t.homeFolder, "repos"));
      if (!there.includes(`${name}.json`)) wrong.push(`repo/add ${shown}: no such file`);
    }
    for (const target of [`/${name}`, `/assets/${name}`, `/assets/../../${name}`]) {
      if (/[\s\0\u007f-\uffff]/.test(target)) continue;
      const answer = await rawRequest(t.url, target, { headers: [`Host: ${new URL(t.url).host}`] }).catch(() => "cut");
      await check(`GET ${shown}`, answer);
    }
  }
  for (const target of ["owner.key", "daemon.json"]) {
    for (const way of "/../ /../../home/ /assets/../../../ /%2e%2e/ /assets/..%2f..%2f // /\\..\\".split(" ")) {
      const headers = [`Host: ${new URL(t.url).host}`];
      const { body, status } = await rawRequest(t.url, `${way}${target}`, { headers });
      tried++;
      if (body.includes("repoconf_") || body.includes("instanceSecret")) wrong.push(`${way}${target}: ${status}`);
    }
  }

  // Deep nesting, in a message and in a file.
  const deep = `${"[".repeat(10_000)}${"]".repeat(10_000)}`;
  const deepObject = `${`{"a":`.repeat(10_000)}1${"}".repeat(10_000)}`;
  using raw = await openRawWebSocket(t.url, t.ownerKey);
  for (const value of [deep, deepObject, polluting, service]) {
    for (const args of [value, `{"repo":"shop","svc.services":${value}}`, `{"repo":${value},"svc.timeout":1}`])
      await check("nested", await raw.ask(`["svc","config","set",${args}]`));
  }
  // Not a file of it could be written.
  for (const value of [polluting, service]) {
    const reply = await raw.ask(`["svc","config","set",{"repo":"shop","svc.services":${value}}]`);
    await check("a member called __proto__", reply);
    if (!/"code":1103.*called __proto__/.test(JSON.stringify(reply))) wrong.push(`${value} is not refused`);
  }
  const good = (timeout: number, more: string) => `{"name":"shop","config":{"svc":{"timeout":${timeout}${more}}}}`;
  for (const value of [deep, deepObject, polluting]) {
    tried++;
    await saveByRename(t.repositoryFile("shop"), good(1, `,"services":${value}`));
    await until(async () => (await healthOf(t, "shop")).length > 0, "the file to be reported as broken");
    await saveByRename(t.repositoryFile("shop"), good(2, ""));
    await until(async () => (await healthOf(t, "shop")).length === 0, "the file to be valid again");
  }

  // Files with such names, placed into the home by a person or a program.
  const files = hostile.filter(name => name !== "" && !/[/\0]/.test(name) && name.length < 100 && !/^\.+$/.test(name));
  for (const name of files) {
    tried++;
    await writeFile(join(t.homeFolder, "repos", `${name}.json`), `{"name":"n","config":{}}`).catch(() => {});
    await writeFile(join(t.homeFolder, "scopes", `${name}.schema.json`), polluting).catch(() => {});
  }
  await t.restart();
  const listed = (await t.owner.call("repo/list", { limit: 1_000 })).result.map(({ id }) => id);
  const bad = listed.filter(id => !/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(id));
  if (bad.length > 0) wrong.push(`repositories ${bad.join(" ")}`);
  const scopes = (await t.owner.call("scope/list")).result.map(({ scope }) => scope);
  if (scopes.join(" ") !== "svc") wrong.push(`scopes ${scopes.join(" ")}`);

  const after = await surroundings(folder.path);
  if (JSON.stringify(after) !== JSON.stringify(before)) wrong.push(`outside: ${JSON.stringify(after)}`);
  const other = await t.connect();
  if ((await other.call("key/self")).errors.length > 0) wrong.push("the daemon no longer answers");
  const note = `${hostile.length} names, and 10,000 levels of nesting`;
  judge("S9", tried, wrong, note);
});
