import { link, mkdir, readdir, readFile, rename, rm, unlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { noRescans, startTestDaemon } from "./daemon.ts";
import { git } from "./git.ts";
import { type LossState, PowerLoss } from "./power-loss.ts";
import type { Random } from "./random.ts";
import { saveByRename } from "./shop.ts";
import type { Facts, Values } from "./start-oracle.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { TestClock } from "./test-clock.ts";
import { cut, entriesIn, recordsIn, revisionIn } from "./witnesses.ts";

/**
 * What may happen to the file while no daemon runs. `age`: how many revisions its text of ours is behind. `late`: a program kept writing
 * into the file that the last write replaced. `editedAge`: how many revisions the text is behind that somebody edited.
 */
const changes = {
  "as it was": { age: 0, isVery: true },
  "earlier text of ours with its stamp": { age: 1, isVery: true },
  "earlier text of ours with another stamp": { age: 1 },
  "of git or a person": { values: { timeout: 60 } },
  "one field edited": { editedAge: 0 },
  "one field of an older text edited": { editedAge: 2 },
  "only touched": { age: 0 },
  broken: { state: "broken", values: {} },
  missing: { state: "missing", values: {} },
  unmounted: { state: "unmounted", values: {} },
  late: { age: 0, isVery: true },
} satisfies { readonly [file: string]: FileChange };
type FileChange = Partial<Facts["file"]> & { readonly age?: number; readonly editedAge?: number };

/** What may happen to each witness. `older`, `old`: a copy from revision 4. */
export const dimensions = {
  file: Object.keys(changes) as (keyof typeof changes)[],
  log: ["whole", "cut", "missing", "older"],
  history: ["whole", "cut", "damaged", "missing"],
  index: ["current", "old", "missing"],
} as const;
export type Damage = { readonly [Name in keyof typeof dimensions]: (typeof dimensions)[Name][number] };

/** A state in which the daemon may leave its files, with what they say. */
export interface End {
  readonly kind: "clean" | "kill" | "power loss";
  readonly label: string;
  /** Whether the set had been answered. */
  readonly isAcknowledged: boolean;
  /** The revision whose text the file has: 5, or 6 once it is replaced. */
  readonly fileRevision: number;
  readonly log: ReadonlyMap<string, string>;
  readonly history: string;
  readonly index: string;
  readonly loss: PowerLoss;
  readonly state: LossState;
}

const isTemporary = /\.repoconf\.json\.[0-9a-f]{12}\.tmp/;

/** The values after each revision of the life, and their sources. */
const valuesAt: readonly Values[] = [
  {},
  { timeout: 30, refresh_day: 2 },
  { timeout: 31, refresh_day: 2, domain: "a.test" },
  { timeout: 31, refresh_day: 3, domain: "a.test" },
  { timeout: 32, refresh_day: 3, domain: "a.test" },
  { timeout: 32, refresh_day: 3, domain: "b.test" },
  { timeout: 33, refresh_day: 3, domain: "b.test" },
];
const sourceAt = ["none", "file", "set", "file", "set", "set", "set"];

const firstText = `{\n  // ours\n  "config": { "svc": { "timeout": 30, "refresh_day": 2 } }\n}\n`;
const foreignText = `{\n  // of somebody else\n  "config": { "svc": { "timeout": 60 } }\n}\n`;
const editDay = (text: string, day = 5) => text.replace(/("refresh_day": )\d/, `$1${day}`);

/** The life of one repository, in the home or in a work tree, or of the local values of one, up to a set during which its daemon ends. */
export class RecordedLife implements AsyncDisposable {
  readonly place: Facts["place"];
  /** Whether revisions 5 and 6 are written with nothing in between, so that 5 is not recorded complete. */
  readonly isQuick: boolean;
  readonly home: string;
  readonly file: string;
  /** Where a watcher is that has seen revision 5. */
  position = "";
  readonly ends: End[] = [];
  /** What requests name. */
  readonly target: { readonly repo: string; readonly layer?: "local" };
  /** As log and index name it. */
  readonly #document: string;
  /** How many empty revisions it has before the first one of the life: a layer's document begins with one. */
  readonly begins: number;
  readonly #disposed = new AsyncDisposableStack();
  readonly #above: string;
  /** Has the very files of revisions 3 to 6 under their numbers. */
  readonly #vault: string;
  readonly #tree: string;
  readonly #history: string;
  readonly #older = { log: new Map<string, string>(), index: "" };
  #undo = async () => {};

  private constructor(place: Facts["place"], isQuick: boolean, folder: string) {
    this.place = place;
    this.isQuick = isQuick;
    this.#vault = join(folder, "vault");
    this.#above = join(folder, "above");
    this.home = join(this.#above, "home");
    this.#tree = join(this.#above, "site");
    const isLocal = place === "local";
    this.target = { repo: "site", ...(isLocal && { layer: "local" }) };
    this.#document = isLocal ? "_local-site" : "site";
    this.begins = isLocal ? 1 : 0;
    this.#history = join(this.home, `journal/${this.#document}.0-0.jsonl`);
    const files = { home: join(this.home, "repos/site.json"), local: join(this.home, "local/site.json") };
    this.file = place === "tree" ? join(this.#tree, ".repoconf.json") : files[place];
  }

  static async record(place: Facts["place"], random: Random, isQuick = false): Promise<RecordedLife> {
    const folder = await temporaryFolder();
    const life = new RecordedLife(place, isQuick, folder.path);
    life.#disposed.use(folder);
    for (const path of [life.#vault, life.#tree, dirname(life.file)]) await mkdir(path, { recursive: true });
    await git(life.#tree, "init", "--quiet", "--template=");
    if (place === "local") {
      await mkdir(join(life.home, "repos"));
      await writeFile(join(life.home, "repos/site.json"), `{ "config": {} }\n`);
    }
    for (const text of [foreignText, firstText]) {
      await writeFile(life.file, text);
      await git(life.#tree, "add", ".");
      await git(life.#tree, "commit", "--quiet", "--allow-empty", "--message", "values");
    }
    await life.#live(random);
    return life;
  }

  async #live(random: Random): Promise<void> {
    const loss = new PowerLoss(this.#above);
    // By this clock nothing happens later by itself, so each record has the same steps.
    const options = { home: this.home, fileSystem: loss.fileSystem, clock: new TestClock(), ...noRescans };
    await using t = await startTestDaemon(options);
    const call: typeof t.owner.call = (name, args) => t.owner.call(name, args);
    if (this.place === "tree") await call("repo/add", { id: "site", name: "site", path: this.#tree, inTree: true });
    const set = (fields: object) => call("config/set", { ...this.target, ...fields });
    const reach = async (revision: number) => {
      await call("file/read", this.target);
      const list = await call("config/list", { repo: "site" });
      if (list.revision !== revision + this.begins)
        throw new Error(`the life has revision ${list.revision} instead of ${revision}`);
      if (revision >= 3) await link(this.file, join(this.#vault, String(revision)));
    };
    await reach(1);
    await set({ "svc.timeout": 31, "svc.domain": "a.test" });
    await reach(2);
    await saveByRename(this.file, editDay(await readFile(this.file, "utf8"), 3));
    await reach(3);
    await set({ "svc.timeout": 32 });
    await reach(4);
    for (const name of await readdir(join(this.home, "log")))
      this.#older.log.set(name, await readFile(join(this.home, "log", name), "utf8"));
    await t.restart();
    this.#older.index = await readFile(join(this.home, "index.json"), "utf8");
    await set({ "svc.domain": "b.test" });
    await reach(5);
    if (!this.isQuick) await t.restart();
    await call("file/read", this.target);
    this.position = (await call("config/watch", {})).result.position ?? "";
    this.#disposed.use(await loss.begin());
    await set({ "svc.timeout": 33 });
    loss.acknowledge();
    await reach(6);
    loss.end();
    await t[Symbol.asyncDispose]();
    const stopped = new PowerLoss(this.#above);
    this.#disposed.use(await stopped.begin());
    this.#addEnds(stopped, random, "clean");
    this.#addEnds(loss, random);
  }

  /** Adds the states that differ in what the witnesses say. */
  #addEnds(loss: PowerLoss, random: Random, only?: "clean"): void {
    const known = new Set<string>();
    for (const state of loss.states(random)) {
      const read = (path: string) =>
        state.contents.get(state.files.get(path.slice(this.#above.length + 1)) ?? 0)?.toString() ?? "";
      const log = [...state.files.keys()].filter(name => name.startsWith("home/log/"));
      const said = {
        kind: only ?? (/, (without|half of) /.test(state.label) ? ("power loss" as const) : ("kill" as const)),
        isAcknowledged: only === "clean" || state.isAcknowledged,
        fileRevision: read(this.file).includes("33") ? 6 : 5,
        history: read(this.#history),
        index: read(join(this.home, "index.json")),
      };
      const texts = log.map(name => [name.slice("home/log/".length), read(join(this.#above, name))] as const);
      const key = JSON.stringify([said, texts]);
      if (!known.has(key)) this.ends.push({ ...said, label: state.label, log: new Map(texts), loss, state });
      known.add(key);
    }
  }

  /** What all witnesses of an end say with this damage. */
  factsOf(end: End, damage: Damage): Facts {
    const { log, history = "", index } = this.#witnesses(end, damage);
    const { newest, recorded } = recordsIn(history, this.begins);
    const entriesOf = (texts: ReadonlyMap<string, string>) => entriesIn(texts, this.#document, this.begins);
    const { age, editedAge, isVery = false, state = "text", values }: FileChange = changes[damage.file];
    const text = age === undefined ? undefined : end.fileRevision - age;
    const edited =
      editedAge === undefined ? { ...values } : { ...valuesAt[end.fileRevision - editedAge], refresh_day: 5 };
    const [removed] = entriesOf(end.log).filter(revision => !entriesOf(log).includes(revision));
    const late: Values = damage.file === "late" ? { refresh_day: 5 } : {};
    return {
      place: this.place,
      isClean: end.kind === "clean",
      valuesAt,
      // Before the local values is the revision in which the shared file was found.
      sourceAt: this.place === "local" ? sourceAt.with(0, "file") : sourceAt,
      file: {
        hasLeftover: isTemporary.test([...end.state.files.keys()].join()),
        state,
        text,
        isVery,
        late,
        values: (text !== undefined && valuesAt[text]) || edited,
      },
      recorded,
      completed: this.isQuick ? 4 : 5,
      log: { state: damage.log, entries: entriesOf(log), removed },
      history: { newest, isDamaged: damage.history === "damaged" },
      index: index === undefined ? 0 : revisionIn(index, this.#document) - this.begins,
    };
  }

  #witnesses({ log, history, index }: End, damage: Damage) {
    const cutLog = new Map([...log].map(([name, text]) => [name, cut(text, `"kind":"commit"`)]));
    const cutHistory = cut(history, `"kind":"change"`);
    // In the record of revision 4.
    const damaged = history.replace(`"after":32`, `"after":92`);
    return {
      log: { whole: log, cut: cutLog, missing: new Map<string, string>(), older: this.#older.log }[damage.log],
      history: { whole: history, cut: cutHistory, damaged, missing: undefined }[damage.history],
      index: { current: index, old: this.#older.index, missing: undefined }[damage.index],
    };
  }

  /** Puts the files of an end in place, with this damage. */
  async make(end: End, damage: Damage): Promise<void> {
    await this.#undo();
    this.#undo = async () => {};
    // Folders stay, because they are known by their inodes.
    for (const folder of [this.home, this.#tree])
      for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
        if (!entry.isDirectory()) await unlink(join(entry.parentPath, entry.name));
    await end.loss.place(end.state, this.#above);
    const { log, history, index } = this.#witnesses(end, damage);
    // What is cut or damaged is the same file. What is older is a copy.
    const put = async (path: string, text: string | undefined, isOther: boolean) => {
      if (isOther) await rm(path, { force: true });
      if (text !== undefined) await writeFile(path, text, { mode: 0o600 });
    };
    const isOtherLog = damage.log === "missing" || damage.log === "older";
    for (const name of new Set([...end.log.keys(), ...log.keys()]))
      await put(join(this.home, "log", name), log.get(name), isOtherLog);
    await put(this.#history, history, damage.history === "missing");
    if (damage.index !== "current") await put(join(this.home, "index.json"), index, true);
    await this.#change(end, damage.file);
  }

  async #change({ fileRevision }: End, change: Damage["file"]): Promise<void> {
    const { file } = this;
    const earlier = join(this.#vault, String(fileRevision - 1));
    const [text, earlierText] = [await readFile(file, "utf8"), await readFile(earlier, "utf8")];
    const { editedAge }: FileChange = changes[change];
    if (change === "earlier text of ours with its stamp") {
      await unlink(file);
      await link(earlier, file);
    } else if (change === "earlier text of ours with another stamp") await saveByRename(file, earlierText);
    else if (change === "of git or a person" && this.place !== "tree") await saveByRename(file, foreignText);
    else if (change === "of git or a person") await git(this.#tree, "checkout", "--quiet", "HEAD~1", "--", ".");
    else if (editedAge !== undefined)
      await saveByRename(file, editDay(await readFile(join(this.#vault, String(fileRevision - editedAge)), "utf8")));
    else if (change === "only touched") await utimes(file, 1, 1);
    else if (change === "broken") await saveByRename(file, text.slice(0, text.length / 2));
    else if (change === "missing") await unlink(file);
    else if (change === "unmounted") {
      await rename(this.#tree, `${this.#tree}.away`);
      await mkdir(this.#tree);
      this.#undo = async () => {
        await rm(this.#tree, { recursive: true });
        await rename(`${this.#tree}.away`, this.#tree);
      };
    } else if (change === "late") {
      // The second name that the daemon gives to a file before it replaces it.
      await link(earlier, join(this.home, this.place === "local" ? "local" : "tmp", "site.json.0123456789ab.tmp"));
      await writeFile(earlier, editDay(earlierText));
      this.#undo = () => writeFile(earlier, earlierText);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposed.disposeAsync();
  }
}
