import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { JsonTextError, parseJsonText } from "../../main/files/json-text.ts";
import { Scopes } from "../../main/scopes/scopes.ts";
import { isConfig } from "../../main/store/mirror/repository-files.ts";
import { interpretConfig } from "../../main/store/values/interpret.ts";
import { svcSchema } from "../../shared/scopes/svc.ts";
import { amount, judge, seed } from "../helpers/promise.ts";
import { type Random, randomNumbers } from "../helpers/random.ts";
import { shopText, startShop } from "../helpers/shop.ts";

const fieldCount = Object.keys(svcSchema.properties).length;
const pieces = [
  ...["{", "}", "[", "]", ":", ",", '"', "\\", "//", "/*", "*/", "\n", "\r\n", "\t", " ", "\uFEFF", "\0", "\u2028"],
  ...["null", "true", "-", "1e999", "0x1", "1.", "NaN", '"config"', '"svc"', '"timeout"', '"name"', '"inTree": true'],
  ...['"__proto__"', '"constructor"', '"path": "relative"', "<<<<<<< HEAD\n", "=======\n", '"\\ud800"', "é", "[[[[["],
];

/** A file as an accident may leave it: the valid one cut, mixed or doubled, or only noise. */
function anyBytes(random: Random): Buffer {
  const good = Buffer.from(shopText);
  const place = () => random(good.length + 1);
  const piece = () => Buffer.from(pieces[random(pieces.length)] ?? "");
  const noise = (length: number) => Buffer.from(Array.from({ length }, () => random(256)));
  switch (random(6)) {
    case 0:
      return noise(random(300));
    case 1:
      return Buffer.concat(Array.from({ length: random(40) }, piece));
    case 2:
      return good.subarray(0, place());
    case 3: {
      const [one, other] = [place(), place()];
      return Buffer.concat([good.subarray(0, one), good.subarray(other)]);
    }
    case 4: {
      const bytes = Buffer.from(good);
      for (let count = 1 + random(4); count > 0; count--) bytes[random(bytes.length)] = random(256);
      return bytes;
    }
    default: {
      let bytes = good;
      for (let count = 1 + random(4); count > 0; count--) {
        const at = random(bytes.length + 1);
        bytes = Buffer.concat([bytes.subarray(0, at), piece(), bytes.subarray(at + random(3))]);
      }
      return bytes;
    }
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const scopes = new Scopes();

/** The text's value, if JSON allows the text: without comments and BOM. */
function strictObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The result of reading the file; "other": JSON, but not a repository with values. Throws whatever would crash the daemon. */
function classify(bytes: Buffer): "broken" | "other" | "read" {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return "broken";
  }
  const strict = strictObject(text);
  try {
    const { value, locate } = parseJsonText(text);
    if (strict !== undefined && JSON.stringify(value) !== JSON.stringify(strict)) throw new Error("another value");
    const { config } = value;
    if (!isConfig(config)) return "other";
    const { stored } = interpretConfig(
      config,
      undefined,
      { scopes, isTrusted: () => true },
      {
        locate: paths => locate(paths.map(path => ["config", ...path])),
      },
    );
    // Every stored value must be valid.
    for (const [scope, fields] of Object.entries(stored))
      for (const [field, fieldValue] of Object.entries(fields))
        if (scopes.get(scope)?.fields.get(field)?.validate(fieldValue) !== undefined)
          throw new Error("a refused value");
    return "read";
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    if (error.line < 1 || error.column < 1) throw new Error(`no place: ${error.line}:${error.column}`);
    if (strict !== undefined && !/duplicate|__proto__|too large|rounded|64 levels/.test(error.message))
      throw new Error(`${error.message}, although it is JSON`);
    return "broken";
  }
}

test("R5 random files are read or reported as broken, and crash nothing", () => {
  const random = randomNumbers(seed);
  const files = amount(10_000, 100_000);
  const crashes: string[] = [];
  const counts = { broken: 0, other: 0, read: 0 };
  for (let count = 0; count < files; count++) {
    const bytes = anyBytes(random);
    try {
      counts[classify(bytes)]++;
    } catch (error) {
      crashes.push(`${JSON.stringify(bytes.toString("latin1"))}: ${error}`);
    }
  }
  expect(({} as { readonly timeout?: unknown }).timeout).toBe(undefined);
  const note = `random files: ${counts.broken} broken, ${counts.other} without values, ${counts.read} valid`;
  judge("R5", files, crashes, note);
  expect(counts.broken).toBeGreaterThan(files / 10);
  expect(counts.read).toBeGreaterThan(files / 50);
});

test("R5 a daemon whose file is replaced by one random file after another keeps serving, and leaves each unchanged", async () => {
  const random = randomNumbers(seed + 1);
  const files = amount(12, 1_000);
  await using shop = await startShop();
  const neighbour = await shop.t.addRepository("neighbour");
  const wrong: string[] = [];
  const counts = { reported: 0, served: 0 };
  for (let count = 1; count <= files; count++) {
    const bytes = anyBytes(random);
    await writeFile(shop.file, bytes);
    const note = (what: string) => wrong.push(`${JSON.stringify(bytes.toString("latin1"))}: ${what}`);
    // The daemon reads the file before it answers this.
    await shop.t.owner.call("file/read", { repo: "shop" });
    const seen = classify(bytes);
    const { result, errors } = await shop.t.owner.call("config/list", { repo: "shop" });
    if (errors.length > 0 || Object.keys(result["svc"] ?? {}).length !== fieldCount)
      note(`list: ${JSON.stringify(errors)}`);
    const reported = (await shop.health()).some(({ code }) => code === 1106);
    const text = bytes.toString();
    counts[reported ? "reported" : "served"]++;
    if (seen === "broken" && !reported) note("not reported as broken, though it cannot be read");
    // A pointer (`inTree`) may lead anywhere.
    if (seen === "read" && reported && !text.includes("inTree")) note("reported as broken, though it can be read");
    const set = await shop.t.owner.call("config/set", { repo: neighbour, "svc.timeout": count });
    if (set.errors.length > 0) note(`the neighbour: ${JSON.stringify(set.errors)}`);
    if (reported && (await shop.set({ "svc.timeout": count })).errors[0]?.code !== 1106) note("a set of a broken file");
    if (reported && !bytes.equals(await readFile(shop.file))) note("the broken file was changed");
  }
  await writeFile(shop.file, shopText);
  await shop.t.owner.call("file/read", { repo: "shop" });
  judge("R5", files, wrong, `random files under a daemon, ${counts.reported} reported as broken`);
  expect(counts.reported).toBeGreaterThan(files / 4);
  expect(await shop.health()).toEqual([]);
  expect(await shop.value("timeout")).toBe(30);
});
