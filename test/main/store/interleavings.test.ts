import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { homeAt } from "../../../main/home/home.ts";
import { prepareHome, privateFile } from "../../../main/home/prepare-home.ts";
import { compileScope, Scopes } from "../../../main/scopes/scopes.ts";
import { Findings } from "../../../main/store/findings.ts";
import { configAt } from "../../../main/store/history/repository-history.ts";
import type { Commit } from "../../../main/store/log/commit-log.ts";
import { Store } from "../../../main/store/store.ts";
import { TrustedValues, trustHash } from "../../../main/store/values/trusted-values.ts";
import { applyConfigEdits, type Config, type ConfigEdit, configEntries } from "../../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import { systemError, watchFileSystem } from "../../helpers/file-system.ts";
import { saveByRename } from "../../helpers/shop.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";
import { TestClock } from "../../helpers/test-clock.ts";

/** The number of sequences, each with stores of its own. */
const runs = Number(process.env["REPOCONF_MODEL_RUNS"] ?? (process.env["REPOCONF_TORTURE"] === "1" ? 1_000 : 100));
const seed = Number(process.env["REPOCONF_MODEL_SEED"] ?? 2);

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

  /** The active value of a field, and what is wrong with the file's. */
  look(at: string): { readonly served: JsonValue | undefined; readonly problems: readonly string[] } {
    const names = this.fields.get(at) ?? [];
    const standing = names.find(name => this.file.has(name));
    const value = this.file.get(standing ?? at);
    const last = this.valid.get(names.find(name => this.valid.has(name)) ?? at);
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
    const isThere = isSame(
      without(
        this.file,
        names.filter(name => name !== at),
      ),
      this.file,
    );
    if (isThere && this.file.get(at) === value && this.look(at).served === value) return;
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

/** A store with a repository in its home and one in a work tree, which goes through a sequence. */
class World {
  readonly #folder: string;
  readonly #clock = new TestClock();
  readonly #scopes = new Scopes();
  #fileSystem = watchFileSystem();
  #store: Store | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error("not open");
    return this.#store;
  }

  fileOf(id: string): string {
    return join(this.#folder, id === "tree" ? "tree/.repoconf.json" : `home/repos/${id}.json`);
  }

  async open(): Promise<void> {
    const home = homeAt(join(this.#folder, "home"));
    await prepareHome(home);
    const fileSystem = watchFileSystem();
    this.#fileSystem = fileSystem;
    const onProblem = () => {};
    const findings = await Findings.open({ paths: home, fileSystem, clock: this.#clock, onProblem });
    const trust = await TrustedValues.open(privateFile(home, home.trustFile, fileSystem), onProblem, onProblem);
    const retention = () => ({ revisions: 10_000, bytes: 64 * 1024 * 1024 });
    const given = { paths: home, scopes: this.#scopes, trust, findings, fileSystem, clock: this.#clock, onProblem };
    this.#store = await Store.open(given, { retention, assertHeld: () => {} });
  }

  apply(properties: (typeof rules)[number]): void {
    if (properties === undefined) this.#scopes.delete("deploy");
    else this.#scopes.set(compileScope("deploy", { type: "object", properties }));
  }

  async run(step: Step, id: string, model: Model): Promise<void> {
    const repository = await this.store.repositories.load(id);
    const { scope, field } = editOf("at" in step ? step.at : "", 0);
    const schema = this.#scopes.field(scope, field);
    switch (step.kind) {
      case "set": {
        const value = valueFor(step.at, step.number);
        if (schema === undefined || schema.validate(value) !== undefined) return;
        const decide = () => ({ edits: [editOf(step.at, value)], answer: undefined });
        await repository.change({ actor: { kind: "file" }, source: "set", decide });
        return model.set(step.at, value);
      }
      case "edit": {
        // The person knows every set.
        await repository.writer.flush();
        this.#clock.advance(3_000);
        await repository.idle();
        const edited = step.edited.map(
          ([at, number, isGood]) => [at, isGood ? valueFor(at, number) : [number]] as const,
        );
        const file = new Map<string, JsonValue>([...without(model.file, step.removed), ...edited]);
        await this.save(id, file);
        await repository.refresh();
        // Before the history has this text, a start would take it for an edit that came after a later set.
        await repository.writer.flush();
        return model.settle(file);
      }
      case "another machine": {
        const value = valueFor(step.at, step.number);
        // What the schemas here refuse stays active until the next edit or start.
        if (model.isTree || schema?.validate(value) !== undefined) return;
        const { lineage, state } = repository;
        const edit = editOf(step.at, value);
        const document = { repo: id, lineage, revision: state.revision + 1, edits: [edit] };
        const time = "2026-01-01T00:00:00.000Z";
        const entry: Commit = { kind: "commit", time, actor: { kind: "file" }, source: "set", documents: [document] };
        const committed = (number: number) => repository.applyRemote({ number, entry }, document, false);
        await this.store.log.append({ entries: [entry], after: this.store.log.newest, committed });
        await repository.idle();
        return model.setElsewhere(step.at, value);
      }
      case "trust": {
        const [waiting] = await repository.waiting();
        if (waiting === undefined) return;
        await repository.accept(waiting, trustHash(this.#scopes, waiting, waiting.value));
        model.trusted.add(waiting.value);
        return model.settle();
      }
    }
  }

  async save(id: string, file: Values): Promise<void> {
    const config = applyConfigEdits(
      {},
      [...file].map(([at, value]) => editOf(at, value)),
    );
    await saveByRename(this.fileOf(id), JSON.stringify(id === "tree" ? { config } : { name: id, config }, null, 2));
  }

  /** The store stops as by `close`, or in the middle of whatever it does. */
  async stop(isKilled: boolean): Promise<void> {
    const { store } = this;
    if (!isKilled) return store.close();
    // Nothing of it reaches the disk any more.
    this.#fileSystem.before = ({ operation }) => {
      if (operation !== "readNow") throw systemError("EIO");
    };
    await store.close().catch(() => {});
  }
}

test(`${runs} random sequences of sets, edits, other machines' commits, schemas, trust, restarts and kills agree with a simple model`, {
  timeout: 600_000,
}, async () => {
  const agrees = async (steps: readonly (readonly [Step, string])[]) => {
    await using folder = await temporaryFolder();
    for (const name of ["home", "home/repos", "tree"]) await mkdir(join(folder.path, name));
    const world = new World(folder.path);
    const models = { home: new Model(false), tree: new Model(true) };
    const check = async () => {
      for (const [id, model] of Object.entries(models)) {
        const repository = await world.store.repositories.load(id);
        const { stored = {}, health, revision } = await repository.read();
        const served = [...model.fields.keys()].flatMap(at => {
          const value = model.fields
            .get(at)
            ?.map(name => model.valid.get(name))
            .find(one => one !== undefined);
          return value === undefined ? [] : [[at, value] as const];
        });
        const known = new Map([...valuesOf(stored)].filter(([at]) => model.fields.has(at)));
        expect([id, revision, known]).toEqual([id, model.revisions.length, new Map(served)]);
        expect(health.map(({ code, field }) => `${code} ${field}`).sort()).toEqual(model.health);
        for (const [index, values] of model.revisions.entries())
          expect([index, valuesOf((await configAt(repository, index + 1)).config)]).toEqual([index, values]);
      }
    };
    const settle = () => {
      for (const model of Object.values(models)) model.settle();
    };
    const changeRules = (to: (typeof rules)[number]) => {
      world.apply(to);
      for (const model of Object.values(models)) model.rules = to;
    };
    changeRules(rules[0]);
    await world.open();
    await saveByRename(world.fileOf("tree"), "{}");
    const actor = { kind: "file" } as const;
    await world.store.roster.add({ id: "home", name: "home", inTree: false, actor });
    await world.store.roster.add({ id: "tree", name: "tree", path: join(folder.path, "tree"), inTree: true, actor });
    const flush = async () => {
      for (const id of Object.keys(models)) await (await world.store.repositories.load(id)).writer.flush();
    };
    try {
      for (const [step, id] of steps) {
        if (step.kind === "rules") {
          changeRules(step.to);
          world.store.reinterpret();
          settle();
        } else if (step.kind === "restart" || step.kind === "kill") {
          // What a file lacks, a start writes by the new names.
          if (step.to === rules[1]) await flush();
          await world.stop(step.kind === "kill");
          changeRules(step.to);
          await world.open();
          settle();
        } else await world.run(step, id, id === "tree" ? models.tree : models.home);
        await check();
      }
    } finally {
      await world.stop(false);
    }
  };
  const anySteps = fc.array(fc.tuple(anyStep, fc.constantFrom("home", "tree")), { maxLength: 14 });
  await fc.assert(fc.asyncProperty(anySteps, agrees), { numRuns: runs, seed });
});
