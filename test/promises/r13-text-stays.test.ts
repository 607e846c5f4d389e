import { expect, test } from "vitest";
import { parseJsonText, rewriteJsonText } from "../../main/files/json-text.ts";
import type { JsonObject, JsonValue } from "../../shared/json.ts";
import { amount, reportPromise, seed } from "../helpers/promise.ts";
import { type Random, randomNumbers } from "../helpers/random.ts";
import { startShop } from "../helpers/shop.ts";

type Values = { readonly [field: string]: JsonValue };

/** A file in the style of some person or editor, with values to fill in and members to add; everything else stays the same. */
type Template = (values: Values, added?: Values) => string;

const names = ["timeout", "domain", "proxy_url", "proxy_http", "refresh_hour", "proxy_aliases"];

function anyValue(field: string, random: Random): JsonValue {
  const word = () => ["a.test", "über", 'with "quotes"', "// no comment", "\\", "\u2028", "{}", ""][random(8)] ?? "";
  switch (field) {
    case "timeout":
      return random(86_401);
    case "refresh_hour":
      return random(24);
    case "proxy_http":
      return random(2) === 0;
    case "proxy_aliases":
      return [`${random(1000)}.test`];
    default:
      return word() + random(1000);
  }
}

function anyTemplate(random: Random): { template: Template; fields: readonly string[] } {
  const choose = <Item>(...items: readonly [Item, ...Item[]]): Item => items[random(items.length)] ?? items[0];
  const lineEnd = choose("\n", "\r\n");
  const indent = choose("  ", "    ", "\t", "");
  const colon = choose(": ", ":", " : ");
  const fields = names
    .map(name => ({ name, order: random(1_000_000) }))
    .sort((one, other) => one.order - other.order)
    .slice(0, 1 + random(names.length))
    .map(({ name }) => name);
  const comment = () => choose("", "", " // why", " /* so */", ' // "timeout": 5,', " /* } */");
  const line = () =>
    choose("", "", `${indent}// a line of its own${lineEnd}`, `${lineEnd}`, `/* two${lineEnd}lines */${lineEnd}`);
  const before = fields.map(line);
  const comments = fields.map(comment);
  const [head, foot] = [line(), line()];
  const extra = choose("", `${indent}"x-note": ["not ours", 1.50, {}],${lineEnd}`);
  const [bom, final] = [choose("", "\uFEFF"), choose("", lineEnd, lineEnd + lineEnd)];
  const template: Template = (values, added = {}) => {
    const more = Object.entries(added);
    const last = fields.length + more.length - 1;
    const comma = (index: number) => (index === last ? "" : ",");
    const members = fields.map((field, index) => {
      const value = JSON.stringify(values[field]);
      return `${before[index]}${indent.repeat(3)}"${field}"${colon}${value}${comma(index)}${comments[index]}${lineEnd}`;
    });
    for (const [index, [field, value]] of more.entries()) {
      // In the style that a person would follow in this file.
      const lines = JSON.stringify(value, null, indent || "  ").replaceAll("\n", lineEnd + indent.repeat(3));
      members.push(`${indent.repeat(3)}"${field}": ${lines}${comma(fields.length + index)}${lineEnd}`);
    }
    return (
      `${bom}${head}{${lineEnd}${extra}${indent}"name"${colon}"shop",${lineEnd}${indent}"config"${colon}{${lineEnd}` +
      `${indent.repeat(2)}"svc"${colon}{${lineEnd}${members.join("")}${indent.repeat(2)}}${lineEnd}` +
      `${indent}}${lineEnd}}${foot === "" ? "" : lineEnd + foot.trimEnd()}${final}`
    );
  };
  return { template, fields };
}

function anyCase(random: Random) {
  const { template, fields } = anyTemplate(random);
  const old = Object.fromEntries(fields.map(field => [field, anyValue(field, random)]));
  const chosen = fields.filter(() => random(2) === 0);
  const changed = Object.fromEntries(chosen.map(field => [field, anyValue(field, random)]));
  const services = { web: { ready: "/", image: `web:${random(1000)}` } };
  const added = random(4) === 0 ? { services } : {};
  return { text: template(old), changed: { ...changed, ...added }, expected: template({ ...old, ...changed }, added) };
}

function rewritten(text: string, changed: Values): string {
  const current = parseJsonText(text);
  const { config } = current.value as { readonly config: { readonly svc: JsonObject } };
  return rewriteJsonText(current, { ...current.value, config: { ...config, svc: { ...config.svc, ...changed } } });
}

test("R13 comments, order, indentation, line ends, BOM and final newline are kept", async () => {
  const random = randomNumbers(seed);
  const texts = amount(3_000, 100_000);
  const wrong: { readonly text: string; readonly changed: Values; readonly became: string }[] = [];
  for (let count = 0; count < texts; count++) {
    const { text, changed, expected } = anyCase(random);
    const became = rewritten(text, changed);
    if (became !== expected) wrong.push({ text, changed, became });
  }
  // The same through a daemon and the disk.
  const files = amount(60, 2_000);
  await using shop = await startShop();
  for (let count = 0; count < files; count++) {
    const { text, changed, expected } = anyCase(random);
    // With `expected`: an edit right after a set by somebody who did not know it would be merged with it.
    const before = (await shop.t.owner.call("file/read", { repo: "shop" })).result.text;
    expect((await shop.t.owner.call("file/write", { repo: "shop", text, expected: before })).errors).toEqual([]);
    const fields = Object.entries(changed).map(([field, value]) => [`svc.${field}`, value]);
    if (fields.length === 0) continue;
    const { errors } = await shop.set(Object.fromEntries(fields));
    expect(errors).toEqual([]);
    const became = await shop.read();
    if (became !== expected) wrong.push({ text, changed, became });
  }
  reportPromise({ row: "R13", tried: texts + files, failed: wrong.length, note: `${files} of them through a daemon` });
  expect(wrong.slice(0, 3)).toEqual([]);
});
