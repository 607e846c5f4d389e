import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { homeAt } from "../../../main/home/home.ts";
import { prepareHome, privateFile } from "../../../main/home/prepare-home.ts";
import { compileScope, Scopes } from "../../../main/scopes/scopes.ts";
import { Findings } from "../../../main/store/findings.ts";
import { configAt, historyFrom } from "../../../main/store/history/repository-history.ts";
import type { Commit } from "../../../main/store/log/commit-log.ts";
import type { Repository } from "../../../main/store/repository/repository.ts";
import { Store } from "../../../main/store/store.ts";
import { withNewNames } from "../../../main/store/values/renamed-fields.ts";
import { TrustedValues, trustHash } from "../../../main/store/values/trusted-values.ts";
import { endlessTurn } from "../../../main/time/yielding.ts";
import { applyConfigEdits, type Config, type ConfigEdit, configEntries } from "../../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import { systemError, watchFileSystem } from "../../helpers/file-system.ts";
import { amount, seed } from "../../helpers/promise.ts";
import { saveByRename } from "../../helpers/shop.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";
import { TestClock } from "../../helpers/test-clock.ts";

/** The number of sequences, each with stores of its own. */
const runs = amount(100, 1_000);

const whole = { type: "integer", default: 1 };
const text = { type: "string", default: "" };
/** What the scope `deploy` is at times; undefined: there is none. */
const rules = [
  { jobs: whole, tools: text },
  { workers: { ...whole, "x-renamedFrom": "jobs" }, tools: text },
  { jobs: whole, tools: { ...text, "x-command": true } },
  { jobs: text, tools: text },
  undefined,
];
type Values = ReadonlyMap<string, JsonValue>;

const without = (values: Values, names: readonly string[]) =>
  new Map([...values].filter(([at]) => !names.includes(at)));
const isSame = (one: Values, other: Values) => sameJson(Object.fromEntries(one), Object.fromEntries(other));

/** What is expected of a repository. Values are by `<scope>.<field>`. */
class Model {
  readonly isTree: boolean;
  readonly trusted = new Set<JsonValue>();
  /** The last valid values of each revision. */
  readonly revisions: Values[] = [new Map()];
  file: Values = new Map();
  rules = rules[0];

  constructor(isTree: boolean) {
    this.isTree = isTree;
  }

  get valid(): Values {
    return this.revisions.at(-1) ?? new Map();
  }

  /** The fields that there are, each with all its names. */
  get fields(): ReadonlyMap<string, readonly string[]> {
    const own = Object.keys(this.rules ?? {}).map(field => `deploy.${field}`);
    return new Map(["svc.timeout", ...own].map(at => [at, at === "deploy.workers" ? [at, "deploy.jobs"] : [at]]));
  }

  lastValid(at: string): JsonValue | undefined {
    return this.valid.get((this.fields.get(at) ?? []).find(name => this.valid.has(name)) ?? at);
  }

  /** The active value of a field, and what is wrong with the file's. */
  look(at: string): { readonly served: JsonValue | undefined; readonly problems: readonly string[] } {
    const names = this.fields.get(at) ?? [];
    const standing = names.find(name => this.file.has(name));
    const value = this.file.get(standing ?? at);
    const last = this.lastValid(at);
    const isText = at === "deploy.tools" || (at === "deploy.jobs" && this.rules?.jobs === text);
    const isCommand = at === "deploy.tools" && this.rules === rules[2] && this.isTree;
    const isGood = (one: JsonValue | undefined) => typeof one === (isText ? "string" : "number");
    const mayServe = (one: JsonValue | undefined) => isGood(one) && (!isCommand || this.trusted.has(one ?? null));
    if (value === undefined) return { served: undefined, problems: [] };
    const notes = standing === at ? [] : [`1115 ${at}`];
    if (mayServe(value)) return { served: value, problems: notes };
    const problems = [`${isGood(value) ? 1114 : 1103} ${at}`, ...notes];
    return { served: mayServe(last) ? last : undefined, problems };
  }

  get health(): readonly string[] {
    const names = [...this.fields.values()].map(all => all.find(name => this.file.has(name)));
    const unknown = [...this.file.keys()].filter(at => !names.includes(at));
    const missing = this.rules === undefined ? unknown.map(() => "deploy") : unknown;
    const problems = [...this.fields.keys()].flatMap(at => this.look(at).problems);
    return [...problems, ...[...new Set(missing)].map(at => `1011 ${at}`)].sort();
  }

  /** The file has these values, or there are other rules: a revision, if that changes active values. */
  settle(file: Values = this.file): void {
    this.file = file;
    const served = [...this.fields.keys()].map(at => [at, this.look(at).served] as const);
    const next = new Map(without(this.valid, [...this.fields.values()].flat()));
    for (const [at, value] of served) if (value !== undefined) next.set(at, value);
    if (!isSame(next, this.valid)) this.revisions.push(next);
  }

  set(at: string, value: JsonValue): void {
    const names = this.fields.get(at) ?? [];
    const isThere = this.file.get(at) === value && names.every(name => name === at || !this.file.has(name));
    if (isThere && this.look(at).served === value) return;
    if (at === "deploy.tools" && this.rules === rules[2]) this.trusted.add(value);
    this.settle(new Map([...without(this.file, names), [at, value]]));
  }

  /** Another machine knows nothing of the rules here. */
  setElsewhere(at: string, value: JsonValue): void {
    this.file = new Map([...this.file, [at, value]]);
    this.revisions.push(new Map([...this.valid, [at, value]]));
  }
}

const paths = ["svc.timeout", "deploy.jobs", "deploy.workers", "deploy.tools"] as const;
const anyPath = fc.constantFrom(...paths);
const anyNumber = fc.integer({ min: 2, max: 9 });
const valueFor = (at: string, number: number) => (at === "deploy.tools" ? `./${number}` : number);
const anyStep = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("set" as const), at: anyPath, number: anyNumber }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("edit" as const),
      removed: fc.subarray([...paths]),
      edited: fc.uniqueArray(fc.tuple(anyPath, anyNumber, fc.boolean()), { selector: ([at]) => at, maxLength: 3 }),
    }),
  },
  fc.record({ kind: fc.constant("another machine" as const), at: anyPath, number: anyNumber }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("rules" as const), to: fc.constantFrom(...rules) }) },
  fc.record({ kind: fc.constant("trust" as const) }),
  fc.record({ kind: fc.constantFrom("restart" as const, "kill" as const), to: fc.constantFrom(...rules) }),
);
type Step = typeof anyStep extends fc.Arbitrary<infer One> ? One : never;

const valuesOf = (config: Config): Values =>
  new Map([...configEntries(config)].map(({ scope, field, value }) => [joinConfigPath(scope, field), value]));
const editOf = (at: string, value: JsonValue): ConfigEdit => {
  const { scope = "", field = "" } = splitConfigPath(at) ?? {};
  return { scope, field, value };
};

/** The shared layer of a repository, or the local one. */
type Target = "home" | "tree" | "home local" | "tree local";
const targets = ["home", "tree", "home local", "tree local"] as const;
const repositoryOf = (target: Target) => (target.startsWith("home") ? "home" : "tree");
const isLocal = (target: Target) => target.endsWith("local");

/** A home with one repository in it and one in a work tree, both with local values, and what is expected of them. */
class World {
  readonly models: { readonly [target in Target]: Model } = {
    home: new Model(false),
    tree: new Model(true),
    "home local": new Model(false),
    "tree local": new Model(false),
  };
  readonly #folder: string;
  readonly #clock = new TestClock();
  readonly #scopes = new Scopes();
  #fileSystem = watchFileSystem();
  #store: Store | undefined;

  constructor(folder: string) {
    this.#folder = folder;
    this.#use(rules[0]);
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error("not open");
    return this.#store;
  }

  async open(): Promise<void> {
    const home = homeAt(join(this.#folder, "home"));
    await prepareHome(home);
    this.#fileSystem = watchFileSystem();
    const common = { paths: home, fileSystem: this.#fileSystem, clock: this.#clock, onProblem: () => {} };
    const { fileSystem, onProblem } = common;
    const findings = await Findings.open(common);
    const trust = await TrustedValues.open(
      {
        trusted: privateFile(home, home.trustFile, fileSystem),
        plain: privateFile(home, home.plainValuesFile, fileSystem),
      },
      onProblem,
      onProblem,
    );
    const retention = () => ({ revisions: 10_000, bytes: 64 * 1024 * 1024 });
    const given = { ...common, scopes: this.#scopes, trust, findings };
    this.#store = await Store.open(given, { retention, assertHeld: () => {} });
  }

  async addBoth(): Promise<void> {
    const actor = { kind: "file" } as const;
    await this.save("tree", new Map());
    await this.store.roster.add({ id: "home", name: "home", inTree: false, actor });
    await this.store.roster.add({ id: "tree", name: "tree", path: join(this.#folder, "tree"), inTree: true, actor });
  }

  #use(properties: (typeof rules)[number]): void {
    for (const model of Object.values(this.models)) model.rules = properties;
    if (properties === undefined) this.#scopes.delete("deploy");
    else this.#scopes.set(compileScope("deploy", { type: "object", properties }));
  }

  #settle(): void {
    for (const model of Object.values(this.models)) model.settle();
  }

  /** The document of a layer; a local one only if there is one. */
  async #documentOf(target: Target): Promise<Repository | undefined> {
    const repository = await this.store.repositories.load(repositoryOf(target));
    return isLocal(target) ? repository.above[0]?.document : repository;
  }

  async run(step: Step, id: Target): Promise<void> {
    const model = this.models[id];
    const repository = await this.store.repositories.load(repositoryOf(id));
    const { scope, field } = editOf("at" in step ? step.at : "", 0);
    const schema = this.#scopes.field(scope, field);
    switch (step.kind) {
      case "set": {
        const value = valueFor(step.at, step.number);
        if (schema === undefined || schema.validate(value) !== undefined) return;
        const layer = isLocal(id) ? "local" : "shared";
        const decide = () => ({ edits: [{ ...editOf(step.at, value), layer } as const], answer: undefined });
        await repository.change({ actor: { kind: "file" }, source: "set", layer, decide });
        return model.set(step.at, value);
      }
      case "edit": {
        // The person knows every set.
        await (await this.#documentOf(id))?.writer.flush();
        this.#clock.advance(3_000);
        await (await this.#documentOf(id))?.idle();
        const edited = step.edited.map(
          ([at, number, isGood]) => [at, isGood ? valueFor(at, number) : [number]] as const,
        );
        const file = new Map<string, JsonValue>([...without(model.file, step.removed), ...edited]);
        await this.save(id, file);
        if (isLocal(id)) await this.store.layers.adopt([repositoryOf(id)], () => {});
        const document = await this.#documentOf(id);
        await document?.refresh();
        // Before the history has this text, a start would take it for an edit that came after a later set.
        await document?.writer.flush();
        return model.settle(file);
      }
      case "another machine": {
        const value = valueFor(step.at, step.number);
        // What the schemas here refuse stays active until the next edit or start.
        if (id !== "home" || schema?.validate(value) !== undefined) return;
        const { lineage, own } = repository;
        const document = { repo: id, lineage, revision: own.revision + 1, edits: [editOf(step.at, value)] };
        const time = "2026-01-01T00:00:00.000Z";
        const entry: Commit = { kind: "commit", time, actor: { kind: "file" }, source: "set", documents: [document] };
        const committed = (number: number) => repository.applyRemote({ number, entry }, document, false);
        await this.store.log.append({ entries: [entry], after: this.store.log.newest, committed });
        await repository.idle();
        return model.setElsewhere(step.at, value);
      }
      case "trust": {
        if (isLocal(id)) return;
        const [waiting] = await repository.waiting();
        if (waiting === undefined) return;
        await repository.accept(waiting, trustHash(this.#scopes, waiting, waiting.value));
        model.trusted.add(waiting.value);
        return model.settle();
      }
      case "rules":
        this.#use(step.to);
        this.store.reinterpret();
        return this.#settle();
      default:
        // What a file lacks, a start writes by the new names.
        if (step.to === rules[1]) for (const one of targets) await (await this.#documentOf(one))?.writer.flush();
        await this.stop(step.kind === "kill");
        this.#use(step.to);
        await this.open();
        return this.#settle();
    }
  }

  async save(id: Target, file: Values): Promise<void> {
    const edits = [...file].map(([at, value]) => editOf(at, value));
    const text = JSON.stringify({ ...(id === "home" && { name: id }), config: applyConfigEdits({}, edits) }, null, 2);
    const path = isLocal(id) ? `home/local/${repositoryOf(id)}.json` : `home/repos/${id}.json`;
    await saveByRename(join(this.#folder, id === "tree" ? "tree/.repoconf.json" : path), text);
  }

  /** Expects of both repositories what their models say, also of every past revision. */
  async check(): Promise<void> {
    for (const id of ["home", "tree"] as const) {
      const layers = [this.models[id], this.models[`${id} local`]] as const;
      const repository = await this.store.repositories.load(id);
      const { stored = {}, health, revision } = await repository.read();
      const served = Object.fromEntries(
        [...layers[0].fields.keys()].map(at => [at, layers.map(one => one.lastValid(at))]),
      );
      const known = [...valuesOf(stored)].filter(([at]) => layers[0].fields.has(at));
      const counted = Object.entries(served).flatMap(([at, [shared, local]]) =>
        (local ?? shared) === undefined ? [] : [[at, local ?? shared] as const],
      );
      const count = layers[0].revisions.length + layers[1].revisions.length - 1;
      expect([id, revision, Object.fromEntries(known)]).toEqual([id, count, Object.fromEntries(counted)]);
      const problems = health.map(({ code, field, layer = "shared" }) => `${layer} ${code} ${field}`);
      const expected = layers.flatMap(({ health: own }, index) =>
        own.map(one => `${index === 0 ? "shared" : "local"} ${one}`),
      );
      expect(problems.sort()).toEqual(expected.sort());
      await this.#checkPast(repository, layers);
    }
  }

  async #checkPast(repository: Repository, layers: readonly [Model, Model]): Promise<void> {
    const order: string[] = [];
    for await (const record of historyFrom(repository, Number.MAX_SAFE_INTEGER, endlessTurn))
      if (record.kind === "change") order.unshift(record.ofLayer?.layer ?? "shared");
    const at = { shared: 0, local: 0 };
    for (const [index, layer] of order.entries()) {
      if (index > 0) at[layer === "local" ? "local" : "shared"] += 1;
      const [shared, local] = [layers[0].revisions[at.shared], layers[1].revisions[at.local]];
      const past = valuesOf((await configAt(repository, index + 1, this.#scopes)).config);
      const counted = [
        this.#renamed(shared),
        new Map([...this.#renamed(local)].filter(([one]) => layers[1].fields.has(one))),
      ];
      const isLayered = repository.above.length > 0;
      expect([index, past]).toEqual([index, isLayered ? new Map(counted.flatMap(one => [...one])) : shared]);
    }
    expect([order.length - 1, at]).toEqual([
      at.shared + at.local,
      { shared: layers[0].revisions.length - 1, local: layers[1].revisions.length - 1 },
    ]);
  }

  /** By today's names, as what counts is. */
  #renamed(values: Values = new Map()): Values {
    const edits = [...values].map(([at, value]) => editOf(at, value));
    return valuesOf(withNewNames(applyConfigEdits({}, edits), this.#scopes).config);
  }

  /** The store stops as by `close`, or in the middle of whatever it does. */
  async stop(isKilled: boolean): Promise<void> {
    if (!isKilled) return this.store.close();
    // Nothing of it reaches the disk any more.
    this.#fileSystem.before = ({ operation }) => {
      if (operation !== "readNow") throw systemError("EIO");
    };
    // What fails is tried again after a while.
    const passing = setInterval(() => this.#clock.advance(1_000), 10);
    await Promise.allSettled([this.store.close()]);
    clearInterval(passing);
  }
}

test(`${runs} random sequences of sets, edits, other machines' commits, schemas, trust, restarts and kills agree with a simple model`, {
  timeout: 600_000,
}, async () => {
  const agrees = async (steps: readonly (readonly [Step, Target])[]) => {
    await using folder = await temporaryFolder();
    for (const name of ["home", "home/repos", "home/local", "tree"]) await mkdir(join(folder.path, name));
    const world = new World(folder.path);
    await world.open();
    try {
      await world.addBoth();
      for (const [step, id] of steps) {
        await world.run(step, id);
        await world.check();
      }
    } finally {
      await world.stop(false);
    }
  };
  const anySteps = fc.array(fc.tuple(anyStep, fc.constantFrom(...targets)), { maxLength: 14 });
  // The value in the file is refused when its scope comes back.
  const comesBack: [Step, Target][] = [
    [{ kind: "set", at: "deploy.jobs", number: 5 }, "home"],
    [{ kind: "rules", to: undefined }, "home"],
    [{ kind: "edit", removed: [], edited: [["deploy.jobs", 6, false]] }, "home"],
    [{ kind: "rules", to: rules[0] }, "home"],
  ];
  await fc.assert(fc.asyncProperty(anySteps, agrees), { numRuns: runs, seed, examples: [[comesBack]] });
});
