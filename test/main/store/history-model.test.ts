import { copyFile, link, mkdir, readdir, readFile, rename, rm, unlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { performance } from "node:perf_hooks";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type RepoconfClient, RequestError } from "../../../main/client/client.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import type { ConfigChanged, HistoryEntry, Reply } from "../../../shared/protocol.ts";
import { startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../../helpers/file-system.ts";
import { patience } from "../../helpers/patience.ts";
import { connect } from "../../helpers/patient-client.ts";
import { saveByRename } from "../../helpers/shop.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

/** The number of histories, each with its own daemons. */
const runs = Number(process.env["REPOCONF_MODEL_RUNS"] ?? (process.env["REPOCONF_TORTURE"] === "1" ? 200 : 3));
const seed = Number(process.env["REPOCONF_MODEL_SEED"] ?? 4);
const repo = "shop";

/** Values of the scope svc. */
type Values = { readonly [field: string]: JsonValue };

const defaults: Values = { timeout: 900, domain: "", proxy_url: "", proxy_aliases: [], provider: "" };
const fields = Object.keys(defaults);
/** Sets never touch this one; a restore may. */
const handField = "provider";
const settable = fields.filter(field => field !== handField);
const refused: Values = { timeout: "soon", domain: 5, proxy_url: false, proxy_aliases: ["x", "x"], provider: 7 };
const accepted: { readonly [field: string]: readonly JsonValue[] } = {
  timeout: [1, 2, 900],
  domain: ["a", "b", ""],
  proxy_url: ["http://a", "http://b"],
  proxy_aliases: [[], ["a"], ["a", "b"]],
};

interface ModelRevision {
  readonly stored: Values;
  readonly actor: "file" | "owner";
  readonly source: ConfigChanged["source"];
  readonly reason?: string;
}

/** The expected state of a repository: every revision, and the values in its file. */
class Model {
  readonly revisions: ModelRevision[] = [{ stored: {}, actor: "owner", source: "set" }];
  /** The values in the file, including invalid ones. */
  file: Values = {};
  broken = false;
  /** Incremented with each use, so that no two hand edits write the same value. */
  number = 0;
  /** The daemon's last write, unless something else has touched the file since. */
  lastWrite: { readonly began: number; readonly text: string; readonly file: Values } | undefined;

  get stored(): Values {
    return this.revisions.at(-1)?.stored ?? {};
  }

  get revision(): number {
    return this.revisions.length;
  }

  /** The file now has these values, which make a revision if they change anything. */
  append(file: Values, how: Omit<ModelRevision, "stored">): void {
    this.file = file;
    this.broken = false;
    const stored = inService(file, this.stored);
    if (!sameJson(stored, this.stored)) this.revisions.push({ ...how, stored });
  }
}

const isRefused = (field: string, value: JsonValue) =>
  field === "timeout"
    ? typeof value !== "number"
    : field === "proxy_aliases"
      ? !Array.isArray(value) || new Set(value).size < value.length
      : typeof value !== "string";

function inService(file: Values, lastGood: Values): Values {
  const entries = Object.entries(file).map(([field, value]) => [
    field,
    isRefused(field, value) ? lastGood[field] : value,
  ]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function without(values: Values, names: readonly string[]): Values {
  return Object.fromEntries(Object.entries(values).filter(([field]) => !names.includes(field)));
}

function expectedEntry(model: Model, revision: number): Omit<HistoryEntry, "time"> {
  const { stored, ...how } = model.revisions[revision - 1] ?? { stored: {}, actor: "owner", source: "set" };
  const before = model.revisions[revision - 2]?.stored ?? {};
  const changed = fields.filter(field => !sameJson(stored[field], before[field]));
  const changes = changed.map(field => [
    field,
    {
      value: stored[field] ?? defaults[field] ?? null,
      previous: before[field] ?? defaults[field] ?? null,
      stored: stored[field] !== undefined,
    },
  ]);
  return { revision, ...how, changes: changed.length > 0 ? { svc: Object.fromEntries(changes) } : {} };
}

/** One repository in a real daemon that can be killed, and a client that watches it all the time. */
class Real implements AsyncDisposable {
  readonly home: string;
  readonly watched: ConfigChanged[] = [];
  t: TestDaemon;
  readonly #stop = new AbortController();
  #fileSystem = watchFileSystem();
  #watching: Promise<void> = Promise.resolve();
  #frozen: string | undefined;
  #dead = false;

  private constructor(home: string, t: TestDaemon, fileSystem: ReturnType<typeof watchFileSystem>) {
    this.home = home;
    this.t = t;
    this.#fileSystem = fileSystem;
  }

  static async start(home: string): Promise<Real> {
    const fileSystem = watchFileSystem();
    const real = new Real(home, await startTestDaemon({ home, fileSystem }), fileSystem);
    await real.t.addRepository(repo);
    const client = await connect({ home });
    real.#watching = real.#watch(client);
    // Answered in order, so the watch has begun by then.
    await client.run("daemon/status", {});
    return real;
  }

  get file(): string {
    return join(this.home, "repos", `${repo}.json`);
  }

  read(): Promise<string> {
    return readFile(this.file, "utf8");
  }

  async revision(): Promise<number | undefined> {
    return (await this.t.owner.call("config/list", { repo })).revision;
  }

  /** Ends the daemon, runs `meanwhile`, and starts another. */
  async restart(meanwhile: () => Promise<void>): Promise<void> {
    await this.t[Symbol.asyncDispose]();
    await meanwhile();
    await this.#begin();
  }

  /**
   * Runs `task` and kills the daemon at this one of its file calls, or when the task has ended: the home as it is at
   * that call becomes the home of the next daemon; nothing that the old one does afterwards reaches it or any client.
   */
  async kill(call: number, task: () => Promise<unknown>): Promise<void> {
    const begin = this.#fileSystem.calls.length;
    let freezing: Promise<void> | undefined;
    const die = () => {
      this.#dead = true;
      freezing ??= this.#freeze();
      return freezing;
    };
    this.#fileSystem.before = ({ operation }) => {
      if (!this.#dead && this.#fileSystem.calls.length - begin <= call) return;
      const dead = die().then(() => {
        throw systemError("EIO");
      });
      if (operation !== "readNow") return dead;
      dead.catch(() => {});
      throw systemError("EIO");
    };
    await task();
    await die();
    await this.t[Symbol.asyncDispose]();
    await rm(this.home, { recursive: true });
    await rename(this.#frozen ?? "", this.home);
    await this.#begin();
  }

  get isDead(): boolean {
    return this.#dead;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    await this.t[Symbol.asyncDispose]();
  }

  async #begin(): Promise<void> {
    this.#fileSystem = watchFileSystem();
    this.#dead = false;
    this.t = await startTestDaemon({ home: this.home, fileSystem: this.#fileSystem });
  }

  async #watch(connected: RepoconfClient): Promise<void> {
    using client = connected;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const since = this.watched.at(-1)?.revision ?? 1;
      try {
        for await (const change of client.watch({ repo, since, signal })) this.watched.push(change);
      } catch (error) {
        // The watch was catching up while the daemon was being killed, whose disk rejects every call by then.
        if (!(error instanceof RequestError) || error.code !== 1108) throw error;
      }
    }
  }

  /** Repositories' files keep their inodes, by which a start recognizes them; journals are appended to, so they are copied. */
  async #freeze(): Promise<void> {
    const frozen = `${this.home}.frozen`;
    for (const entry of await readdir(this.home, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      const target = join(frozen, relative(this.home, path));
      await mkdir(entry.isDirectory() ? target : join(target, ".."), { recursive: true, mode: 0o700 });
      if (entry.isDirectory() || entry.name === "lock") continue;
      // A temporary file that was renamed or removed meanwhile.
      await (path === this.file ? link(path, target) : copyFile(path, target)).catch(() => {});
    }
    this.#frozen = frozen;
  }
}

type Command = fc.AsyncCommand<Model, Real>;

/** A step, after which the answers to all requests are checked. */
function command(
  name: string,
  check: (model: Model) => boolean,
  run: (model: Model, real: Real) => Promise<void>,
): Command {
  return {
    check,
    run: async (model, real) => {
      await run(model, real);
      await checkAll(model, real);
    },
    toString: () => name,
  };
}

async function checkAll(model: Model, { t }: Real): Promise<void> {
  const list = async (args: object) =>
    (await t.owner.call("config/list", { repo, ...args })) as Reply<{ svc?: Values }>;
  const now = await list({});
  expect(now).toMatchObject({
    errors: [],
    revision: model.revision,
    result: { svc: { ...defaults, ...model.stored } },
  });
  expect((await list({ stored: true })).result.svc ?? {}).toEqual(model.stored);
  const then = 1 + ((model.number++ * 7) % model.revision);
  const past = await list({ stored: true, revision: then });
  expect(past).toMatchObject({ errors: [], revision: then });
  expect(past.result.svc ?? {}).toEqual(model.revisions[then - 1]?.stored);

  const history: HistoryEntry[] = [];
  let after: string | undefined;
  do {
    const page = await t.owner.call("history/list", { repo, limit: 7, after });
    expect(page.errors).toEqual([]);
    history.push(...page.result);
    after = page.next;
  } while (after !== undefined);
  expect(history.reverse().map(({ time: _, ...entry }) => entry)).toEqual(
    model.revisions.map((_, index) => expectedEntry(model, index + 1)),
  );

  const field = fields[model.number % fields.length] ?? "timeout";
  const last = model.revisions.findLastIndex(
    ({ stored }, index) => !sameJson(stored[field], model.revisions[index - 1]?.stored[field]),
  );
  const { stored: _, ...how } = model.revisions[last] ?? { stored: {} };
  const stored = model.stored[field];
  const inFile = model.file[field];
  const isLastGood = model.broken || (inFile !== undefined && isRefused(field, inFile));
  const { result } = await t.owner.call("config/explain", { repo, field: `svc.${field}` });
  const { file: _file, line: _line, column: _column, time: _time, ...explained } = result;
  expect(explained).toEqual({
    value: stored ?? defaults[field],
    default: defaults[field],
    ...(stored !== undefined && { stored }),
    origin: stored === undefined ? "default" : isLastGood ? "lastGood" : "stored",
    ...(last > 0 && { revision: last + 1, ...how }),
  });
}

interface Options {
  readonly revision: "none" | "current" | "old";
  readonly atomic: boolean;
  readonly dryRun: boolean;
  readonly reason: string | undefined;
}

/** Checks the reply to an operation that changes values, and updates the model. `values`: undefined removes a value. */
async function change(
  model: Model,
  real: Real,
  values: ReadonlyMap<string, JsonValue | undefined>,
  { revision, atomic, dryRun, reason }: Options,
  source: "set" | "unset" | "restore",
  send: (options: object) => Promise<Reply<readonly { readonly repo: string; readonly revision: number }[]>>,
): Promise<void> {
  const given = revision === "none" ? undefined : revision === "current" ? model.revision : model.revision - 1;
  const text = await real.read();
  const began = performance.now();
  const { result, errors } = await send({
    ...(given !== undefined && { revision: given }),
    atomic,
    dryRun,
    ...(reason !== undefined && { reason }),
  });
  const expectRefused = async (...codes: readonly number[]) => {
    expect(result).toEqual([]);
    expect(errors.map(({ code }) => code)).toEqual(codes);
    expect(await real.read()).toBe(text);
  };
  if (model.broken) return expectRefused(1106);
  if (given !== undefined && given !== model.revision) return expectRefused(1104);
  const bad = [...values].filter(([field, value]) => value !== undefined && isRefused(field, value));
  const good = [...values].filter(([field]) => !bad.some(([other]) => other === field));
  if ((atomic && bad.length > 0) || (good.length === 0 && bad.length > 0)) return expectRefused(...bad.map(() => 1103));
  expect(errors.map(({ code }) => code)).toEqual(bad.map(() => 1103));
  const kept = without(
    model.file,
    good.map(([field]) => field),
  );
  const file = { ...kept, ...Object.fromEntries(good.filter(([, value]) => value !== undefined)) } as Values;
  const before = model.file;
  const changes = good.some(([field, value]) => !sameJson(model.stored[field], value));
  if (dryRun) {
    expect(result).toMatchObject([{ repo, revision: model.revision + (changes ? 1 : 0) }]);
    expect(await real.read()).toBe(text);
    return;
  }
  model.append(file, { actor: "owner", source, ...(reason !== undefined && { reason }) });
  expect(result).toMatchObject([{ repo, revision: model.revision }]);
  if (sameJson(file, before)) expect(await real.read()).toBe(text);
  else model.lastWrite = { began, text, file: before };
}

type Change = { readonly [field: string]: JsonValue };
const named = (values: Change) =>
  Object.fromEntries(Object.entries(values).map(([field, value]) => [`svc.${field}`, value]));
const setting = (values: Change, options: Options) =>
  command(
    `set ${JSON.stringify({ ...values, ...options })}`,
    () => true,
    (model, real) =>
      change(model, real, new Map(Object.entries(values)), options, "set", sent =>
        real.t.owner.call("config/set", { repo, flush: true, ...named(values), ...sent }),
      ),
  );

const unsetting = (names: readonly string[], options: Options) =>
  command(
    `unset ${names} ${JSON.stringify(options)}`,
    () => true,
    (model, real) =>
      change(model, real, new Map(names.map(name => [name, undefined])), options, "unset", sent =>
        real.t.owner.call("config/unset", { repo, flush: true, fields: names.map(name => `svc.${name}`), ...sent }),
      ),
  );

/** Restores an older revision, as a whole or in some fields. */
const restoring = (back: number, names: readonly string[] | undefined, options: Options) =>
  command(
    `restore ${back} back, ${names ?? "all"} ${JSON.stringify(options)}`,
    () => true,
    (model, real) => {
      const to = Math.max(1, model.revision - back);
      return restore(model, real, to, names, options);
    },
  );

/** Reverts the last revision, no matter who made it. */
const undoing = () =>
  command(
    "undo",
    model => model.revision > 1,
    (model, real) => {
      const changed = Object.keys(expectedEntry(model, model.revision).changes["svc"] ?? {});
      const options = { revision: "current", atomic: true, dryRun: false, reason: "undo" } as const;
      return restore(model, real, model.revision - 1, changed, options);
    },
  );

function restore(model: Model, real: Real, to: number, names: readonly string[] | undefined, options: Options) {
  const past = model.revisions[to - 1]?.stored ?? {};
  const wanted = names ?? fields.filter(field => !sameJson(past[field], model.stored[field]));
  return change(model, real, new Map(wanted.map(name => [name, past[name]])), options, "restore", sent =>
    real.t.owner.call("history/restore", {
      flush: true,
      repo,
      to,
      ...(names !== undefined && { fields: names.map(name => `svc.${name}`) }),
      ...sent,
    }),
  );
}

interface HandEdit {
  readonly save: "renamed over" | "written in place" | "deleted and created again";
  readonly edited: readonly string[];
  readonly refused: readonly string[];
  readonly removed: readonly string[];
}

const formatFile = (values: Values, number: number) =>
  `{\n  // ${number}\n  "name": "shop",\n  "config": { "svc": ${JSON.stringify(values, null, number % 3)} }\n}\n`;

async function save(file: string, way: HandEdit["save"], text: string): Promise<void> {
  if (way === "renamed over") return saveByRename(file, text);
  if (way === "deleted and created again") await unlink(file);
  await writeFile(file, text);
}

/** The values that the edit leaves in the file; those it writes were never there before. */
function editedValues(model: Model, { edited, refused: wrong, removed }: HandEdit): Values {
  const number = ++model.number;
  const values: { [field: string]: JsonValue } = {};
  for (const field of edited) {
    const text = `hand ${number}`;
    values[field] = field === "timeout" ? 1_000 + number : field === "proxy_aliases" ? [text] : text;
  }
  for (const field of wrong) values[field] = field === "proxy_aliases" ? ["x", "x", number] : { number };
  // Removing a value that was just set would look like an edit that did not know of the set.
  const byHand = removed.filter(field => {
    const last = model.revisions.findLast(
      ({ stored }, index) => !sameJson(stored[field], model.revisions[index - 1]?.stored[field]),
    );
    return last?.source === "file" && last.actor === "file";
  });
  return { ...without(model.file, byHand), ...values };
}

/** Waits until revision and health show that the daemon has checked the edit. */
async function untilSeen(model: Model, real: Real): Promise<void> {
  const refusedInFile = Object.entries(model.file).filter(([field, value]) => isRefused(field, value));
  await until(async () => {
    const [entry] = (await real.t.owner.call("repo/list")).result;
    const codes = entry?.health.map(({ code }) => code).filter(code => code !== 1104);
    return (
      entry?.revision === model.revision && sameJson(codes ?? [], model.broken ? [1106] : refusedInFile.map(() => 1103))
    );
  }, `revision ${model.revision} and the health of the edit`);
}

const editing = (edit: HandEdit) =>
  command(
    `edit by hand ${JSON.stringify(edit)}`,
    () => true,
    async (model, real) => {
      const values = editedValues(model, edit);
      const text = formatFile(values, model.number);
      await save(real.file, edit.save, text);
      model.append(values, { actor: "file", source: "file" });
      model.lastWrite = undefined;
      await untilSeen(model, real);
      expect(await real.read()).toBe(text);
    },
  );

/** An edit of a field that the daemon's last write did not touch, by a program that did not know of that write. */
const editingStale = (way: HandEdit["save"]) =>
  command(
    `stale edit, ${way}`,
    ({ lastWrite, file }) => lastWrite !== undefined && sameJson(lastWrite.file[handField], file[handField]),
    async (model, real) => {
      if (model.lastWrite === undefined) return;
      const { began, file } = model.lastWrite;
      model.lastWrite = undefined;
      const values = { ...file, [handField]: `stale ${++model.number}` };
      const merged = { ...model.file, [handField]: values[handField] };
      await save(real.file, way, formatFile(values, model.number));
      await until(async () => (await real.revision()) === model.revision + 1, "the edit's revision");
      const took = performance.now() - began;
      const { result } = await real.t.owner.call("history/list", { repo, limit: 1 });
      const source = result[0]?.source === "merge" ? "merge" : "file";
      if (took < 2_000) expect(source).toBe("merge");
      model.append(source === "merge" ? merged : values, { actor: "file", source });
      await untilSeen(model, real);
      // The file is written later.
      await real.t.owner.call("file/read", { repo });
    },
  );

/** The text from before the daemon's last write, restored by hand. */
const reverting = (way: HandEdit["save"]) =>
  command(
    `revert, ${way}`,
    ({ lastWrite }) => lastWrite !== undefined,
    async (model, real) => {
      if (model.lastWrite === undefined) return;
      const { text, file } = model.lastWrite;
      model.lastWrite = undefined;
      await save(real.file, way, text);
      model.append(file, { actor: "file", source: "file" });
      await untilSeen(model, real);
      expect(await real.read()).toBe(text);
    },
  );

const breaking = (text: string) =>
  command(
    `break by hand ${JSON.stringify(text)}`,
    () => true,
    async (model, real) => {
      await saveByRename(real.file, text);
      model.broken = true;
      model.lastWrite = undefined;
      await untilSeen(model, real);
      expect(await real.read()).toBe(text);
    },
  );

const restarting = (edit: HandEdit | undefined) =>
  command(
    `restart, meanwhile ${JSON.stringify(edit)}`,
    () => true,
    async (model, real) => {
      await real.restart(async () => {
        if (edit === undefined) return;
        const values = editedValues(model, edit);
        await save(real.file, edit.save, formatFile(values, model.number));
        model.append(values, { actor: "file", source: "file" });
      });
      model.lastWrite = undefined;
      await untilSeen(model, real);
    },
  );

const killingInSet = (call: number, values: Change) =>
  command(
    `kill at call ${call} of set ${JSON.stringify(values)}`,
    () => true,
    async (model, real) => {
      let acknowledged = false;
      await real.kill(call, async () => {
        const { errors } = await real.t.owner.call("config/set", { repo, ...named(values) });
        acknowledged = errors.length === 0 && !real.isDead;
      });
      model.lastWrite = undefined;
      const happened = (await real.revision()) === model.revision + 1;
      const file = { ...model.file, ...values };
      if (happened || acknowledged) model.append(file, { actor: "owner", source: "set" });
      // An edit that changes no active value makes no revision to wait for.
      else if (!model.broken && sameJson(inService(file, model.stored), model.stored)) {
        const inFile = JSON.parse((await real.read()).replace(/\/\/.*/, "")).config.svc ?? {};
        expect([file, model.file]).toContainEqual(inFile);
        model.file = inFile;
      }
    },
  );

const killingInEdit = (call: number, edit: HandEdit) =>
  command(
    `kill at call ${call} of edit ${JSON.stringify(edit)}`,
    () => true,
    async (model, real) => {
      const values = editedValues(model, edit);
      await real.kill(call, async () => {
        await save(real.file, edit.save, formatFile(values, model.number));
        model.append(values, { actor: "file", source: "file" });
        const isSeen = async () => (await real.revision()) === model.revision;
        await until(async () => real.isDead || (await isSeen()), "the edit to be seen");
      });
      model.lastWrite = undefined;
      await untilSeen(model, real);
    },
  );

const anyOptions: fc.Arbitrary<Options> = fc.record({
  revision: fc.constantFrom("none", "none", "none", "current", "old"),
  atomic: fc.boolean(),
  dryRun: fc.integer({ min: 0, max: 5 }).map(number => number === 0),
  reason: fc.constantFrom(undefined, undefined, "because"),
});
const anySettable = fc.subarray(settable, { minLength: 1 });
const anyWay = fc.constantFrom<HandEdit["save"]>("renamed over", "written in place", "deleted and created again");
const goodChange: fc.Arbitrary<Change> = anySettable.chain(names =>
  fc.record(Object.fromEntries(names.map(name => [name, fc.constantFrom(...(accepted[name] ?? []))]))),
);
const anyChange: fc.Arbitrary<Change> = fc
  .tuple(goodChange, fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: anySettable }))
  .map(([values, wrong]) => ({ ...values, ...Object.fromEntries(wrong.map(name => [name, refused[name] ?? null])) }));
const anyEdit: fc.Arbitrary<HandEdit> = fc.record({
  save: anyWay,
  edited: fc.subarray(fields),
  refused: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.subarray(fields) }),
  removed: fc.subarray(fields),
});
const anyCall = fc.integer({ min: 0, max: 24 });

const commands = fc.commands(
  [
    fc.tuple(anyChange, anyOptions).map(args => setting(...args)),
    fc.tuple(anyChange, anyOptions).map(args => setting(...args)),
    goodChange.map(values => setting(values, { revision: "none", atomic: false, dryRun: false, reason: undefined })),
    fc.tuple(fc.subarray(fields, { minLength: 1 }), anyOptions).map(args => unsetting(...args)),
    fc
      .tuple(
        fc.integer({ min: 0, max: 12 }),
        fc.option(fc.subarray(fields, { minLength: 1 }), { nil: undefined }),
        anyOptions,
      )
      .map(args => restoring(...args)),
    fc.constant(undoing()),
    anyEdit.map(editing),
    anyEdit.map(editing),
    anyWay.map(editingStale),
    anyWay.map(editingStale),
    anyWay.map(reverting),
    fc.constantFrom("", `{ "config": `, `<<<<<<< HEAD\n{}`, `{ "config": { "svc": 1 } }`).map(breaking),
    fc.option(anyEdit, { nil: undefined }).map(restarting),
    fc.tuple(anyCall, goodChange).map(args => killingInSet(...args)),
    fc.tuple(anyCall, anyEdit).map(args => killingInEdit(...args)),
  ],
  { maxCommands: 40, size: "max" },
);

test(`${runs} random histories agree with a simple model in values, revisions, explanations and events`, {
  timeout: 4 * patience + runs * 20_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(commands, async steps => {
      await using folder = await temporaryFolder();
      const model = new Model();
      const home = join(folder.path, "home");
      await mkdir(home, { mode: 0o700 });
      await using real = await Real.start(home);
      await fc.asyncModelRun(() => ({ model, real }), steps);
      await until(() => real.watched.length >= model.revision - 1, "the last events");
      expect(real.watched.map(({ time: _, repo: __, position: ___, ...event }) => event)).toEqual(
        model.revisions.slice(1).map((_, index) => expectedEntry(model, index + 2)),
      );
    }),
    // Shrinking a history is not worth its time: each step runs for real.
    { numRuns: runs, seed, endOnFailure: true },
  );
});
