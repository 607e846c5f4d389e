import { mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { canonicalJson, type JsonValue } from "../../shared/json.ts";
import { startDaemonProcess } from "../helpers/daemon-process.ts";
import { amount, judge, seed } from "../helpers/promise.ts";
import { type Random, randomNumbers } from "../helpers/random.ts";
import { saveByRename } from "../helpers/shop.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

/** The fields that run as commands, with their defaults and example values. */
const commands: { readonly [field: string]: { readonly none: JsonValue; make(number: number): JsonValue } } = {
  "svc.services": { none: {}, make: number => ({ web: { image: "node:24", ready: `run ${number}` } }) },
  "svc.envvars": { none: [], make: number => [{ name: "LD_PRELOAD", value: `${number}.so` }] },
  "tasks.run": { none: "", make: number => `make ${number}` },
};
const fields = Object.keys(commands);

/** What schemas make of the field `tasks.run`; "removed": there is no such scope. */
const effects = {
  text: {},
  command: { "x-command": true },
  "variable TOOLS": { "x-env": "TOOLS" },
  "variable PATH": { "x-env": "PATH" },
  both: { "x-command": true, "x-env": "PATH" },
  removed: undefined,
} as const;
type EffectName = keyof typeof effects;

/** A version of the scope `tasks`. If the field is renamed, it is `tasks.go`, and was `tasks.run`. */
interface Version {
  readonly effect: EffectName;
  readonly isRenamed: boolean;
}

function schemaText({ effect, isRenamed }: Version): string | undefined {
  const keywords = effects[effect];
  if (keywords === undefined) return undefined;
  const field = { type: "string", default: "", ...keywords, ...(isRenamed && { "x-renamedFrom": "run" }) };
  return JSON.stringify({ type: "object", properties: { [isRenamed ? "go" : "run"]: field } });
}

interface Config {
  [scope: string]: { [field: string]: JsonValue };
}

/**
 * What a person knows: the values of each field that may be active, and those that must be active once the file contains them.
 */
class Model {
  version: Version = { effect: "command", isRenamed: false };
  /** By a field's name and effect. */
  readonly #allowed = new Map<string, Set<string>>();
  readonly #sure = new Map<string, Set<string>>();

  /** The present name of a field; undefined if its scope is removed. */
  nameOf(field: string): string | undefined {
    if (field !== "tasks.run") return field;
    if (this.version.effect === "removed") return undefined;
    return this.version.isRenamed ? "tasks.go" : field;
  }

  allow(field: string, value: JsonValue, isSure: boolean): void {
    const [place = ""] = placesOf(field, this.version);
    for (const values of isSure ? [this.#allowed, this.#sure] : [this.#allowed])
      values.set(place, (values.get(place) ?? new Set()).add(canonicalJson(value)));
  }

  allows(field: string, value: JsonValue, version = this.version): boolean {
    if (canonicalJson(value) === canonicalJson(commands[field]?.none ?? null)) return true;
    return isPlain(field, version) || holds(this.#allowed, field, version, value);
  }

  isSure(field: string, value: JsonValue): boolean {
    return isPlain(field, this.version) || holds(this.#sure, field, this.version, value);
  }

  /**
   * trust.json is missing: only active values of the built-in scope count as trusted, because those of others may have become active
   * as something else.
   */
  forgetAllBut(served: ReadonlyMap<string, JsonValue>): void {
    this.#allowed.clear();
    this.#sure.clear();
    for (const field of fields) if (field !== "tasks.run") this.allow(field, served.get(field) ?? null, true);
  }
}

function isPlain(field: string, { effect }: Version): boolean {
  return field === "tasks.run" && (effect === "text" || effect === "removed");
}

/** Where a value that is trusted now is remembered, and under which older names one counts. */
function placesOf(field: string, { effect, isRenamed }: Version): string[] {
  if (field !== "tasks.run") return [field];
  return (isRenamed ? ["tasks.go", "tasks.run"] : ["tasks.run"]).map(name => `${name} ${effect}`);
}

function holds(values: ReadonlyMap<string, Set<string>>, field: string, version: Version, value: JsonValue): boolean {
  return placesOf(field, version).some(place => values.get(place)?.has(canonicalJson(value)));
}

/** One in-tree repository, `site`, with a daemon in a separate process. */
async function startWorld(random: Random, folder: string) {
  const model = new Model();
  const wrong: string[] = [];
  const counts = new Map<string, number>();
  const [home, site] = [join(folder, "home"), join(folder, "site")];
  const file = join(site, ".repoconf.json");
  const texts: string[] = [];
  let eventsSeen = 0;
  /** The active values of the last list. */
  let lastServed = new Map<string, JsonValue>();
  /** The schema before this step: events may be older than the present one. */
  let earlier: Version | undefined;
  await mkdir(join(home, "scopes"), { recursive: true });
  await mkdir(site);
  await writeFile(join(home, "scopes/tasks.schema.json"), schemaText(model.version) ?? "");
  let daemon = await startDaemonProcess(home);
  let client = await daemon.connect();

  const step = async (): Promise<void> => {
    const steps: readonly (readonly [weight: number, name: string, run: () => Promise<void>])[] = [
      [5, "pull", () => write(anyText())],
      [4, "switch", () => write(texts[random(texts.length)] ?? "{}")],
      [2, "edit in place", () => writeFile(file, anyText())],
      [3, "set", set],
      [3, "set meanwhile", async () => void (await call("config/set", { "svc.timeout": random(1_000) }))],
      [4, "accept", () => accept(async () => {})],
      [4, "accept late", () => accept(() => write(anyText()))],
      [3, "undo", () => restore(1)],
      [2, "restore", () => restore(1 + random(12))],
      [3, "late edit", () => editLate()],
      [3, "new schema", () => changeSchema(async () => {})],
      [3, "new schema and pull", () => changeSchema(() => write(anyText()))],
      [3, "accept after a new schema", () => accept(() => changeSchema(async () => {}))],
      [1, "restart", () => restart(() => call("config/set", { "svc.timeout": 1 }))],
      [2, "kill", () => restart(() => dieInSet())],
      [1, "trust.json deleted", () => loseTrust()],
    ];
    const all = steps.flatMap(([weight, ...one]) => Array.from({ length: weight }, () => one));
    const [name = "", run] = all[random(all.length)] ?? [];
    counts.set(name, (counts.get(name) ?? 0) + 1);
    await run?.();
    await check(name);
    earlier = undefined;
  };

  const end = async (): Promise<void> => {
    client.socket.close();
    await daemon.kill();
  };

  const anyText = (): string => {
    const config: Config = { svc: { timeout: random(1_000) } };
    for (const field of fields) {
      const [scope = "", name = ""] = field.split(".");
      if (random(4) > 0) config[scope] = { ...config[scope], [name]: anyValue(field) };
    }
    const text = `${JSON.stringify({ config }, null, random(3))}\n`;
    texts.push(text);
    return text;
  };

  const anyValue = (field: string): JsonValue => commands[field]?.make(random(5)) ?? null;

  /** Replaces the file like git. */
  const write = (text: string) => saveByRename(file, text);

  /** Writes another version of the scope, as when it is accepted. `isRunning`: waits until the daemon uses it. */
  const writeSchema = async (isRunning: boolean): Promise<void> => {
    const names = Object.keys(effects) as EffectName[];
    const effect = names[random(names.length)] ?? "text";
    earlier = model.version;
    const version = { effect, isRenamed: effect !== "removed" && random(3) === 0 };
    const file = join(home, "scopes/tasks.schema.json");
    const text = schemaText(version);
    if (text === undefined) await rm(file, { force: true });
    else await saveByRename(file, text);
    while (isRunning) {
      const { result } = await client.call("scope/list");
      const schema = result.find(({ scope }) => scope === "tasks")?.schema;
      if ((schema === undefined ? undefined : canonicalJson(schema as unknown as JsonValue)) === canonical(text)) break;
      await new Promise(next => setTimeout(next, 5));
    }
    model.version = version;
  };

  const changeSchema = async (meanwhile: () => Promise<void>): Promise<void> => {
    await Promise.all([writeSchema(true), meanwhile()]);
  };

  const call = (operation: "config/set" | "history/restore" | "trust/accept", args: object) =>
    client.call(operation, { repo: "site", ...args });

  const set = async (): Promise<void> => {
    const field = fields[random(fields.length)] ?? "";
    const name = model.nameOf(field);
    if (name === undefined) return;
    const value = anyValue(field);
    const { errors } = await call("config/set", { [name]: value, "svc.timeout": random(1_000) });
    if (errors.length === 0) model.allow(field, value, true);
    else wrong.push(`a set was refused: ${JSON.stringify(errors)}`);
  };

  /** Accepts a shown value after running `meanwhile`. */
  const accept = async (meanwhile: () => Promise<void>): Promise<void> => {
    const { result } = await client.call("trust/list", { repo: "site" });
    const shown = result[random(result.length)];
    if (shown === undefined) return;
    const field = shown.field === "tasks.go" ? "tasks.run" : shown.field;
    const { version } = model;
    await meanwhile();
    const { errors } = await call("trust/accept", { field: shown.field, hash: shown.hash });
    // Of a value that was shown as something else, nothing is accepted.
    const isSame = field !== "tasks.run" || version.effect === model.version.effect;
    if (errors.length === 0 && isSame) model.allow(field, shown.value, true);
    else if (errors.length === 0) wrong.push(`${shown.field} was accepted as ${model.version.effect}`);
    else if (![1104, 1011].includes(errors[0]?.code ?? 0)) wrong.push(`accept was refused: ${JSON.stringify(errors)}`);
  };

  const restore = async (back: number): Promise<void> => {
    const { revision = 0 } = await client.call("config/list", { repo: "site" });
    if (revision > back) await call("history/restore", { to: revision - back });
  };

  /** An editor that had the file open writes to it after a set has replaced it. */
  const editLate = async (): Promise<void> => {
    await using editor = await open(file, "r+");
    await call("config/set", { "svc.timeout": random(1_000) });
    const text = anyText();
    await editor.truncate();
    await editor.write(text, 0);
  };

  const dieInSet = async (): Promise<void> => {
    const field = fields[random(fields.length)] ?? "";
    const name = model.nameOf(field);
    if (name === undefined) return;
    const value = anyValue(field);
    // It may become active without a reply, because setting it counts as trusting it.
    model.allow(field, value, false);
    await daemon.arm({ call: 1 + random(30), when: "before" });
    const reply = call("config/set", { [name]: value }).catch(() => undefined);
    const ended = (async () => {
      for (let tries = 0; tries < 200 && !daemon.isDead; tries++) await new Promise(next => setTimeout(next, 5));
    })();
    await Promise.race([reply, ended]);
  };

  const restart = async (before: () => Promise<unknown>, between = async () => {}): Promise<void> => {
    await before();
    client.socket.close();
    await daemon.kill();
    await between();
    if (random(2) === 0) await writeSchema(false);
    if (random(2) === 0) await write(anyText());
    daemon = await startDaemonProcess(home);
    client = await daemon.connect();
    eventsSeen = 0;
    await client.call("config/watch", { repo: "site" });
  };

  /** As in a restored backup, which has no trust.json: the history contains values that nobody was asked to trust. */
  const loseTrust = async (): Promise<void> => {
    await restart(
      async () => {
        // Before this, everything is known.
        await check("before trust.json goes");
        model.forgetAllBut(lastServed);
      },
      () => rm(join(home, "trust.json"), { force: true }),
    );
  };

  const check = async (step: string): Promise<void> => {
    for (let tries = 0; ; tries++) {
      const text = async () => (await client.call("file/read", { repo: "site" })).result.text ?? "{}";
      const before = await text();
      const { result } = await client.call("config/list", { repo: "site" });
      const waiting = (await client.call("trust/list", { repo: "site" })).result;
      hear(step);
      const served = (field: string) => valueAt(result, model.nameOf(field) ?? "");
      for (const field of fields) see(step, field, served(field));
      // A late edit is detected a moment later.
      const isSettled = before === (await text()) && before === (await readFile(file, "utf8"));
      if (!isSettled && tries < 100) continue;
      lastServed = new Map(fields.map(field => [field, served(field) ?? null]));
      const { config = {} } = JSON.parse(before) as { config?: Config };
      for (const field of fields) {
        const name = model.nameOf(field);
        if (name === undefined) continue;
        const entry = waiting.find(one => one.field === name);
        const problem = compare(field, valueAt(config, name) ?? valueAt(config, field), entry?.value);
        if (problem !== undefined) wrong.push(`${step}: ${field} ${problem}`);
      }
      return;
    }
  };

  /** Checks that the active and the waiting value match the file. */
  const compare = (field: string, said: JsonValue | undefined, waiting: JsonValue | undefined): string | undefined => {
    const served = lastServed.get(field) ?? null;
    const isServed = canonicalJson(served) === canonicalJson(said ?? commands[field]?.none ?? null);
    if (isServed !== (waiting === undefined)) return `serves ${canonicalJson(served)}, and trust/list differs`;
    if (said === undefined || isServed) return undefined;
    if (model.isSure(field, said)) return `${canonicalJson(said)} is trusted but not active`;
    return canonicalJson(waiting ?? null) === canonicalJson(said)
      ? undefined
      : "the reported value differs from the file's";
  };

  /** Processes the events that watchers received. */
  const hear = (step: string): void => {
    const { events } = client;
    for (; eventsSeen < events.length; eventsSeen++) {
      const event = events[eventsSeen];
      if (event?.[0] !== "config" || event[1] !== "changed") continue;
      for (const field of fields) {
        for (const name of field === "tasks.run" ? [field, "tasks.go"] : [field]) {
          const [scope = "", own = ""] = name.split(".");
          // Null: the field's value was removed together with the field.
          see(`${step}, an event`, field, event[2].changes[scope]?.[own]?.value ?? undefined, earlier);
        }
      }
    }
  };

  const see = (step: string, field: string, value: JsonValue | undefined, before = model.version): void => {
    if (value === undefined || model.allows(field, value) || model.allows(field, value, before)) return;
    const effect = field === "tasks.run" ? ` as ${model.version.effect}` : "";
    wrong.push(`${step}: ${field} = ${canonicalJson(value)} is active${effect}, but nobody trusted it`);
  };

  await writeFile(file, anyText());
  const { errors } = await client.call("repo/add", { id: "site", name: "site", path: site, inTree: true });
  expect(errors).toEqual([]);
  await client.call("config/watch", { repo: "site" });
  return { wrong, counts, step, end };
}

function canonical(text: string | undefined): string | undefined {
  return text === undefined ? undefined : canonicalJson(JSON.parse(text));
}

function valueAt(config: Config | { readonly [scope: string]: unknown }, field: string): JsonValue | undefined {
  const [scope = "", name = ""] = field.split(".");
  return (config as Config)[scope]?.[name];
}

test("S17 a command that arrives with a pull is never active before a person has trusted that exact value", {
  timeout: amount(600_000, 3_600_000),
}, async () => {
  const [histories, length] = [amount(1, 20), amount(80, 250)];
  const wrong: string[] = [];
  const counts = new Map<string, number>();
  for (let history = 0; history < histories; history++) {
    await using folder = await temporaryFolder();
    const world = await startWorld(randomNumbers(seed + history), folder.path);
    try {
      for (let step = 0; step < length && world.wrong.length === 0; step++) await world.step();
    } finally {
      await world.end();
    }
    wrong.push(...world.wrong);
    for (const [name, count] of world.counts) counts.set(name, (counts.get(name) ?? 0) + count);
  }
  const note = [...counts].map(([name, count]) => `${count} ${name}`).join(", ");
  judge("S17", histories * length, wrong, note);
});
