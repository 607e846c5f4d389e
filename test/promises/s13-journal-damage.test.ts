import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "vitest";
import { checkJournals } from "../../main/cli/doctor/journal-check.ts";
import { homeAt } from "../../main/home/home.ts";
import { startTestDaemon, type TestDaemon, until } from "../helpers/daemon.ts";
import { amount, judge, seed } from "../helpers/promise.ts";
import { type Random, randomNumbers } from "../helpers/random.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const repositories = Array.from({ length: 20 }, (_, index) => `repository-${index}`);
/** The revisions of each repository: revision 1 has no values, revision N sets the timeout to N. */
const revisions = 9;

/** Damages a journal's bytes somewhere; returns a description and the result. Line 0 is the checkpoint, line N is revision N. */
function damage(text: string, random: Random): readonly [how: string, damaged: string] {
  const lines = text.slice(0, -1).split("\n");
  const line = random(lines.length);
  const joined = (changed: readonly string[]) => changed.map(one => `${one}\n`).join("");
  const bytes = Buffer.from(text, "latin1");
  switch (random(9)) {
    case 0: {
      const flips = 1 + random(4);
      for (let flip = 0; flip < flips; flip++) {
        const at = random(bytes.length);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
      }
      return [`${flips} bits flipped`, bytes.toString("latin1")];
    }
    case 1:
      return [`line ${line} dropped`, joined(lines.toSpliced(line, 1))];
    case 2:
      return [`line ${line} doubled`, joined(lines.toSpliced(line, 0, lines[line] ?? ""))];
    case 3: {
      const other = random(lines.length);
      return [
        `line ${line} moved to place ${other}`,
        joined(lines.toSpliced(line, 1).toSpliced(other, 0, lines[line] ?? "")),
      ];
    }
    case 4:
      return ["cut off somewhere", text.slice(0, random(text.length))];
    case 5:
      return [`cut off before line ${line}`, joined(lines.slice(0, line))];
    case 6: {
      // Changes the value of a revision to another plausible one.
      const altered = (lines[line] ?? "").replace(/"after":\d+/, `"after":${100 + random(900)}`);
      return [`the value in line ${line} altered`, joined(lines.with(line, altered))];
    }
    case 7: {
      const from = random(bytes.length);
      bytes.fill(0, from, Math.min(bytes.length, from + 1 + random(200)));
      return ["a piece overwritten with zeros", bytes.toString("latin1")];
    }
    default: {
      const junk = Array.from({ length: 1 + random(100) }, () => String.fromCharCode(random(256))).join("");
      const at = random(text.length);
      return ["bytes inserted", text.slice(0, at) + junk + text.slice(at)];
    }
  }
}

/** Compares the answers about a repository with a damaged journal to the truth; returns a line for each false answer. */
async function findUntruths(t: TestDaemon, repo: string, isReportedByDoctor: boolean): Promise<string[]> {
  const wrong: string[] = [];
  const call = t.owner.call;
  const { result: present, revision = 0 } = await call("config/list", { repo, field: "svc.timeout" });
  if (present["svc"]?.["timeout"] !== revisions) wrong.push(`the current value is ${JSON.stringify(present)}`);
  const history = await call("history/list", { repo, limit: 1_000 });
  const entries = history.result ?? [];
  const numbers = entries.map(entry => entry.revision);
  for (const { revision: number, source, changes } of entries) {
    const value = changes["svc"]?.["timeout"]?.value;
    if (number > revisions) {
      if (source !== "file" && source !== "recovery") wrong.push(`revision ${number} is one of ${source}`);
    } else if (number > 1 && value !== number)
      wrong.push(`revision ${number} is reported as ${JSON.stringify(changes)}`);
  }
  const own = numbers.filter(number => number <= revisions);
  // The reported part has no gaps.
  if (own.some((number, index) => index > 0 && number !== (own[index - 1] ?? 0) - 1)) wrong.push(`gaps: ${numbers}`);
  const refused = history.errors.some(({ code }) => code === 1110);
  const complete = own.length === revisions;
  const wins = (numbers[0] ?? revision) > revisions || revision > revisions;
  if (!complete && !refused && !wins) wrong.push(`${numbers} is reported as if it were everything`);
  if (refused && !isReportedByDoctor) wrong.push("doctor reported nothing");
  for (let at = 1; at <= revisions; at++) {
    const then = await call("config/list", { repo, revision: at, field: "svc.timeout", stored: true });
    const value = then.result["svc"]?.["timeout"];
    if (
      then.errors.length === 0
        ? value !== (at === 1 ? undefined : at)
        : ![1110, 1011, 1112].includes(then.errors[0]?.code ?? 0)
    )
      wrong.push(`revision ${at} is listed as ${JSON.stringify(then)}`);
  }
  wrong.push(...(await findUntruthsInEvents(t, repo, revision)));
  // The repository still accepts sets.
  const { errors } = await call("config/set", { repo, "svc.timeout": 500 });
  if (errors.length > 0) wrong.push(`a set gets ${JSON.stringify(errors)}`);
  return wrong;
}

/** The same for the events sent to a watcher that was away since revision 1. */
async function findUntruthsInEvents(t: TestDaemon, repo: string, newest: number): Promise<string[]> {
  const { socket, call, events } = await t.connect();
  let cut = false;
  socket.once("disconnect", () => {
    cut = true;
  });
  const { errors } = await call("config/watch", { repo, since: 1 });
  const [error] = errors;
  if (error !== undefined) return [1110, 1112].includes(error.code) ? [] : [`a watch gets ${JSON.stringify(errors)}`];
  const sent = () => events.flatMap(([resource, , payload]) => (resource === "config" ? [payload] : []));
  // If the journal turns out to be damaged on the way, the connection ends.
  await until(() => cut || newest === 1 || sent().at(-1)?.revision === newest, "what a watcher missed");
  socket.close();
  return sent().flatMap(({ revision, source, changes }, index) => {
    const value = changes["svc"]?.["timeout"]?.value;
    const isTrue = revision > revisions ? source === "file" : value === revision;
    return isTrue && revision === index + 2 ? [] : [`event ${index} is ${revision}: ${JSON.stringify(changes)}`];
  });
}

test("S13 damage to the journal is never mistaken for history: random damage, then every answer about the past", async () => {
  await using folder = await temporaryFolder();
  const original = join(folder.path, "original");
  {
    await using t = await startTestDaemon({ home: original });
    for (const repo of repositories) {
      await t.addRepository(repo);
      for (let timeout = 2; timeout <= revisions; timeout++)
        await t.owner.call("config/set", { repo, "svc.timeout": timeout });
    }
  }
  const random = randomNumbers(seed);
  const rounds = amount(2, 50);
  const wrong: string[] = [];
  let tried = 0;
  for (let round = 0; round < rounds; round++) {
    const home = join(folder.path, `round-${round}`);
    await cp(original, home, { recursive: true, preserveTimestamps: true });
    const how = new Map<string, string>();
    for (const repo of repositories) {
      const file = join(home, "journal", `${repo}.0-0.jsonl`);
      const [what, damaged] = damage(await readFile(file, "latin1"), random);
      await writeFile(file, damaged, "latin1");
      how.set(repo, what);
    }
    const findings = await checkJournals(homeAt(home), { running: false, onProgress: () => {} });
    await using t = await startTestDaemon({ home });
    for (const repo of repositories) {
      tried++;
      const isReported = findings.some(({ result, repo: id }) => result !== "good" && id === repo);
      const untruths = await findUntruths(t, repo, isReported);
      for (const untruth of untruths) wrong.push(`round ${round}, ${repo}, ${how.get(repo)}: ${untruth}`);
    }
  }
  judge("S13", tried, wrong, "journals damaged at random");
});

test("S13 damage to the journal is never mistaken for history: lines lost at its end are counted, even if nothing else shows it", async () => {
  await using folder = await temporaryFolder();
  const home = join(folder.path, "home");
  const lost = new Map([1, 2, 5, revisions - 1].map(lines => [`lost-${lines}`, lines]));
  {
    await using t = await startTestDaemon({ home });
    for (const repo of lost.keys()) {
      await t.addRepository(repo);
      for (let timeout = 2; timeout <= revisions; timeout++)
        await t.owner.call("config/set", { repo, "svc.timeout": timeout });
    }
  }
  // After a crash, the index may be older than the journal.
  await rm(join(home, "index.json"));
  for (const [repo, lines] of lost) {
    const file = join(home, "journal", `${repo}.0-0.jsonl`);
    const whole = (await readFile(file, "utf8")).slice(0, -1).split("\n");
    const garbled = whole.map((line, index) => (index < whole.length - lines ? line : line.replaceAll("1", "2")));
    await writeFile(file, `${garbled.join("\n")}\n`);
  }
  const wrong: string[] = [];
  await using t = await startTestDaemon({ home });
  for (const [repo, lines] of lost)
    for (const untruth of await findUntruths(t, repo, true)) wrong.push(`${lines} lines: ${untruth}`);
  judge("S13", lost.size, wrong, "journals whose last lines are damaged");
});
