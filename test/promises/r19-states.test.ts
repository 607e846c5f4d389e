import { readFile } from "node:fs/promises";
import { test } from "vitest";
import { noRescans, startTestDaemon } from "../helpers/daemon.ts";
import { judge, seed, torture } from "../helpers/promise.ts";
import { type Random, randomNumbers } from "../helpers/random.ts";
import { type Damage, dimensions, type End, RecordedLife } from "../helpers/recorded-life.ts";
import { answerTo, type Claim, type Facts, same, type Values } from "../helpers/start-oracle.ts";
import { fieldsOf, recordsIn, valuesIn } from "../helpers/witnesses.ts";

interface Row {
  readonly life: RecordedLife;
  readonly end: End;
  readonly damage: Damage;
  readonly facts: Facts;
  readonly claims: readonly Claim[];
}
type Cases = { readonly [what: string]: (row: Omit<Row, "claims">) => boolean };

/** States that cannot occur. */
const impossible: Cases = {
  "no home is mounted": ({ damage, facts }) => damage.file === "unmounted" && facts.place !== "tree",
  "the log has no entry to cut off": ({ damage, facts }) => damage.log === "cut" && facts.log.removed === undefined,
  "there is no replaced file to edit late": ({ damage: { file, history }, end, facts: { isClean, place } }) =>
    file === "late" && (end.fileRevision === 5 || isClean || place === "tree" || /cut|missing/.test(history)),
};

function caseOf(cases: Cases, row: Omit<Row, "claims">): string | undefined {
  return Object.entries(cases).find(([, is]) => is(row))?.[0];
}

/** Which damages of the file tell lives with and without completed writes apart. */
const quickFiles: ReadonlySet<Damage["file"]> = new Set([
  "earlier text of ours with another stamp",
  "one field edited",
  "one field of an older text edited",
]);

/** The table; why there is no answer to the other combinations is counted in `skipped`. */
function* rowsOf(life: RecordedLife, skipped: Map<string, number>): Generator<Row> {
  for (const end of life.ends)
    for (const file of dimensions.file)
      for (const log of dimensions.log)
        for (const history of dimensions.history)
          for (const index of dimensions.index) {
            if (life.isQuick && !quickFiles.has(file)) continue;
            const damage = { file, log, history, index };
            const facts = life.factsOf(end, damage);
            const claims = caseOf(impossible, { life, end, damage, facts }) ?? answerTo(facts);
            if (typeof claims === "string") skipped.set(claims, (skipped.get(claims) ?? 0) + 1);
            else yield { life, end, damage, facts, claims };
          }
}

function nameOf({ place, isQuick }: RecordedLife): string {
  return isQuick ? `${place}, quick` : place;
}

/** The pairs of a value of `file` with one of another dimension, each end and kind of claim. */
function pairsOf(row: Row): string[] {
  const { file, ...others } = row.damage;
  const place = nameOf(row.life);
  const pairs = Object.entries({ place, kind: row.end.kind, ...others }).map(pair => [file, ...pair].join());
  const claims = row.claims.map(({ rule, about }) => `${rule} ${about}`);
  return [...pairs, ...claims, `${place} ${row.end.kind} ${row.end.label}`];
}

/** So many rows, or more, which have every pair. */
function choose(rows: readonly Row[], count: number, random: Random): readonly Row[] {
  const shuffled = rows.map(row => ({ row, at: random(2 ** 30) })).sort((one, other) => one.at - other.at);
  const known = new Set<string>();
  const chosen = new Set<Row>();
  for (const least of [6, 5, 4, 3, 2, 1])
    for (const { row } of shuffled) {
      const pairs = pairsOf(row).filter(pair => !known.has(pair));
      if (pairs.length < least) continue;
      chosen.add(row);
      for (const pair of pairs) known.add(pair);
    }
  for (const { row } of shuffled) if (chosen.size < count) chosen.add(row);
  return [...chosen];
}

function sampled(rows: readonly Row[], count: number, random: Random): readonly Row[] {
  const shuffled = rows.map(row => ({ row, at: random(2 ** 30) })).sort((one, other) => one.at - other.at);
  return shuffled.slice(0, count).map(({ row }) => row);
}

/** What a daemon that starts on these files answers, and what it tells. */
async function startOn({ home, file, position, target, begins }: RecordedLife) {
  const textOf = () => readFile(file, "utf8").catch(() => null);
  const before = await textOf();
  await using t = await startTestDaemon({ home, ...noRescans });
  const { call } = t.owner;
  await call("file/read", target);
  const list = await call("config/list", { repo: "site", stored: true, layers: true });
  const { shared, local } = list.layers ?? { shared: {} };
  const [newest] = (await call("history/list", { repo: "site", limit: 1 })).result;
  const health = (await call("repo/list", { repo: "site" })).result[0]?.health ?? [];
  const { problems = [], findings = [] } = (await call("daemon/status")).result;
  const watch = await call("config/watch", { position });
  const text = await textOf();
  // Revisions that merge an edit with sets are edits too.
  const source = newest?.source === "merge" ? "file" : (newest?.source ?? "none");
  const told = [
    ...health.map(({ code, message }) => `${code} ${message}`),
    ...problems,
    ...findings.map(({ message }) => message),
  ];
  return {
    values: fieldsOf((target.layer === undefined ? shared : (local ?? {}))["svc"]),
    revision: (list.revision ?? 0) - begins,
    source,
    file: text === before ? "unchanged" : text,
    watch: watch.errors[0]?.code ?? "continues",
    told: told.filter(line => !line.startsWith("1104")),
  };
}

/** What was found instead of what a claim expects; undefined if it holds. */
function differenceTo({ about, expected }: Claim, values: Values, found: Awaited<ReturnType<typeof startOn>>): unknown {
  const { revision, source, told } = found;
  if (about === "values") return same(found.values, values) ? undefined : found.values;
  if (about === "revision") {
    const isLeap = source === "recovery" && revision > Number(/^a leap after (.*)/.exec(String(expected))?.[1]);
    return isLeap || expected === `${revision} ${source}` ? undefined : `${revision} ${source}`;
  }
  if (about === "file" || about === "watch") {
    const isWritten = about === "file" && found.file !== "unchanged" && same(valuesIn(found.file), values);
    return found[about] === expected || (expected === "written" && isWritten) ? undefined : found[about];
  }
  const words = about.slice("told ".length);
  return (words === "nothing" ? told.length === 0 : told.some(line => line.includes(words))) ? undefined : told;
}

test("R19: a start concludes from log, history, file and index what its rules say", async ({ annotate }) => {
  const random = randomNumbers(seed);
  await using home = await RecordedLife.record("home", random);
  await using tree = await RecordedLife.record("tree", random);
  await using quick = await RecordedLife.record("home", random, true);
  await using local = await RecordedLife.record("local", random);
  const lives = [home, tree, quick, local];
  const skipped = new Map<string, number>();
  const rows = lives.flatMap(life => [...rowsOf(life, skipped)]);
  const [ofLocal, ofOthers] = [rows.filter(({ life }) => life === local), rows.filter(({ life }) => life !== local)];
  // Local values are read by the code of the others: a few rows tell whether their witnesses are asked.
  const few = ofLocal.filter(({ damage }) => quickFiles.has(damage.file) || damage.file === "missing");
  const chosen = torture ? rows : [...choose(ofOthers, 60, random), ...sampled(few, 6, random)];
  const compared: { readonly rule: number; readonly row: Row; readonly isEqual: boolean }[] = [];
  const failures: string[] = [];
  const tryRow = async (row: Row) => {
    const { life, end, damage, claims } = row;
    await life.make(end, damage);
    const found = await startOn(life).catch(String);
    const values = fieldsOf(Object(claims.find(({ about }) => about === "values")?.expected));
    for (const claim of claims) {
      const difference = typeof found === "string" ? found : differenceTo(claim, values, found);
      compared.push({ rule: claim.rule, row, isEqual: difference === undefined });
      if (difference !== undefined)
        failures.push(JSON.stringify([nameOf(life), end.kind, end.label, damage, claim, difference]));
    }
  };
  // Last those that change the stamps of recorded files.
  const order = ["late", "only touched"];
  const sorted = chosen.toSorted((one, other) => order.indexOf(one.damage.file) - order.indexOf(other.damage.file));
  await Promise.all(
    lives.map(async life => {
      for (const { fileRevision, history, isAcknowledged, label } of life.ends) {
        const isRecorded = fileRevision === 5 || recordsIn(history, life.begins).recorded?.revision === 6;
        const isSynced = fileRevision === 6 || !isAcknowledged || life.place !== "tree";
        if (!isRecorded || !isSynced) failures.push(`rules 1 and 4, ${nameOf(life)}, ${label}`);
      }
      for (const row of sorted) if (row.life === life) await tryRow(row);
    }),
  );
  const byRule = Object.entries(Object.groupBy(compared, ({ rule }) => rule)).map(([rule, of = []]) => {
    const equal = of.filter(({ isEqual }) => isEqual).length;
    return { rule, rows: new Set(of.map(({ row }) => row)).size, equal, different: of.length - equal };
  });
  await annotate(JSON.stringify({ rows: chosen.length, of: rows.length, byRule, skipped: [...skipped] }));
  judge("R19", chosen.length, failures, "states before a start");
});
