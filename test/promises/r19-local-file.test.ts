import { cp, mkdir, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "vitest";
import { noRescans, startTestDaemon } from "../helpers/daemon.ts";
import { judge, seed, torture } from "../helpers/promise.ts";
import { randomNumbers } from "../helpers/random.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const secret = "only-here.test";
const edited = "edited-by-hand.test";

const dimensions = {
  file: ["as it was", "one field edited", "broken", "missing"],
  history: ["whole", "cut", "missing"],
  log: ["whole", "missing"],
  index: ["current", "missing"],
} as const;
type Damage = { readonly [Name in keyof typeof dimensions]: (typeof dimensions)[Name][number] };

function* damages(): Generator<Damage> {
  for (const file of dimensions.file)
    for (const history of dimensions.history)
      for (const log of dimensions.log) for (const index of dimensions.index) yield { file, history, log, index };
}

/** A repository in a work tree with a shared and a local value, whose daemon has ended. */
async function recordLayers(folder: string) {
  const [home, tree] = [join(folder, "live/home"), join(folder, "live/tree")];
  for (const path of [home, tree]) await mkdir(path, { recursive: true });
  await using t = await startTestDaemon({ home, ...noRescans });
  const call: typeof t.owner.call = (name, args) => t.owner.call(name, args);
  await call("repo/add", { id: "site", name: "site", path: tree, inTree: true });
  const set = (domain: string, layer: "local" | "shared") =>
    call("config/set", { repo: "site", "svc.domain": domain, layer, flush: true });
  await set("team.test", "shared");
  await set(`x.${secret}`, "local");
  await set(secret, "local");
  return { home, tree };
}

async function damage(home: string, { file, history, log, index }: Damage): Promise<void> {
  const [local, journal] = [join(home, "local/site.json"), join(home, "journal/_local-site.0-0.jsonl")];
  const text = await readFile(local, "utf8");
  if (file === "one field edited") await writeFile(local, text.replace(secret, edited));
  else if (file === "broken") await writeFile(local, text.slice(0, -5));
  else if (file === "missing") await rm(local);
  if (history === "cut") await truncate(journal, 200);
  else if (history === "missing") await rm(journal);
  if (log === "missing") for (const name of await readdir(join(home, "log"))) await rm(join(home, "log", name));
  if (index === "missing") await rm(join(home, "index.json"));
}

/** What is wrong with a start on these files; empty if nothing. */
async function problemsOf(home: string, tree: string, { file, history, index }: Damage): Promise<string[]> {
  await using t = await startTestDaemon({ home, ...noRescans });
  const call: typeof t.owner.call = (name, args) => t.owner.call(name, args);
  const problems: string[] = [];
  const list = async () => {
    const { layers } = await call("config/list", { repo: "site", stored: true, layers: true });
    return [layers?.shared["svc"]?.["domain"], layers?.local?.["svc"]?.["domain"]];
  };
  const noteLeak = async (when: string) => {
    const text = await readFile(join(tree, ".repoconf.json"), "utf8");
    const inHome = await readFile(join(home, "repos/site.json"), "utf8");
    if (`${text}${inHome}`.includes("only-here") || text.includes(edited)) problems.push(`${when}: ${text}`);
  };
  const [shared, local] = await list();
  await noteLeak("after the start");
  if (shared !== "team.test") problems.push(`the shared value is ${shared}`);
  // After a clean stop, the log has nothing that the history lacks. Without file, index and history, nothing names the layer.
  const isKnown = file === "as it was" || history === "whole";
  const expected = file === "one field edited" ? edited : isKnown ? secret : local;
  if (local !== expected) problems.push(`the local value is ${local}, not ${expected}`);
  const health = (await call("repo/list")).result[0]?.health ?? [];
  const { findings = [] } = (await call("daemon/status")).result;
  const isTold = health.length + findings.length > 0;
  const isNamed = file !== "missing" || history !== "missing" || index === "current";
  if ((file === "broken" || file === "missing") && isNamed && !isTold) problems.push("nothing is told");
  await call("config/set", { repo: "site", "svc.timeout": 31, layer: "shared", flush: true });
  await call("config/set", { repo: "site", "svc.provider": "here", flush: true });
  await call("file/restore", { repo: "site" });
  await noteLeak("after a set and a restore of the file");
  return problems;
}

test("R19: whatever a start finds of the local file, its history, log and index, no local value gets anywhere else", async () => {
  await using folder = await temporaryFolder();
  const { home, tree } = await recordLayers(folder.path);
  const vault = join(folder.path, "vault");
  await cp(join(folder.path, "live"), vault, { recursive: true });
  const random = randomNumbers(seed);
  const all = [...damages()].map(one => ({ one, at: random(2 ** 30) })).sort((one, other) => one.at - other.at);
  const chosen = torture ? all : all.slice(0, 12);
  const failures: string[] = [];
  for (const { one } of chosen) {
    await rm(join(folder.path, "live"), { recursive: true });
    await cp(vault, join(folder.path, "live"), { recursive: true });
    await damage(home, one);
    const problems = await problemsOf(home, tree, one).catch(error => [String(error)]);
    if (problems.length > 0) failures.push(JSON.stringify([one, ...problems]));
  }
  judge("R19", chosen.length, failures, "states of a local file before a start");
});
