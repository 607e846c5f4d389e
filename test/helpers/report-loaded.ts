import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "./spawned-daemon.ts";

/** Writes to standard error, when a process ends or becomes another program, which parts of Node and which of our own files it has loaded. */
const program = `
import fs from "node:fs";
import { registerHooks } from "node:module";
const files = [];
const { readFileSync } = fs;
// These files are no modules (main/cli/load-compiled.ts).
fs.readFileSync = (path, ...rest) => {
  if (/(one-shot|start-or-end|daemon)\\.js/.test(path)) files.push(path.split("/").at(-1));
  return readFileSync(path, ...rest);
};
registerHooks({ load(url, context, next) { if (url.startsWith("file:")) files.push(url.split("/").at(-1)); return next(url, context); } });
const report = () => {
  const parts = process.moduleLoadList.filter(name => /undici|NativeModule (http|crypto|tls|zlib|fs.promises)$/.test(name));
  fs.writeSync(2, "loaded: " + JSON.stringify({ parts, files }) + "\\n");
};
process.on("exit", report);
const { execve } = process;
if (execve !== undefined) process.execve = (...args) => { report(); execve.apply(process, args); };`;

/** Arguments for Node. */
export const reportLoaded = ["--import", `data:text/javascript,${encodeURIComponent(program)}`];

export function loadedBy(errorOutput: string): {
  readonly parts: readonly string[];
  readonly files: readonly string[];
} {
  return JSON.parse(/^loaded: (.*)$/m.exec(errorOutput)?.[1] ?? "{}");
}

/** Writes to standard error, when a daemon ends, where the functions begin that it has called of its file of the build. */
const runProgram = `
import fs from "node:fs";
import { Session } from "node:inspector";
const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: false, detailed: false });
process.on("exit", () => session.post("Profiler.takePreciseCoverage", (_, { result }) => {
  const { functions } = result.find(({ url }) => url.endsWith("/dist/daemon.js"));
  const starts = functions.flatMap(({ ranges: [{ count, startOffset }] }) => (count > 0 ? [startOffset] : []));
  fs.writeSync(2, "ran: " + JSON.stringify(starts) + "\\n");
}));`;

/** Arguments for Node. */
export const reportRun = ["--import", `data:text/javascript,${encodeURIComponent(runProgram)}`];

/** The modules, by path, and the packages of which a daemon has called functions. */
export function ranBy(errorOutput: string): ReadonlySet<string> {
  const text = readFileSync(join(projectFolder, "dist/daemon.js"), "utf8");
  const modules = [...text.matchAll(moduleComments)];
  const starts: readonly number[] = JSON.parse(/^ran: (.*)$/m.exec(errorOutput)?.[1] ?? "[]");
  return new Set(starts.flatMap(start => nameOf(modules.findLast(({ index }) => index < start)) ?? []));
}

/** The build names each module in a comment before its text. */
const moduleComments = /^\t?\/\/ (?:\S*\bnode_modules\/((?:@[^/\n]+\/)?[^/\n]+)\/|((?:main|shared)\/\S+\.ts)$)/gm;
const nameOf = (match: readonly string[] | undefined) => match?.[1] ?? match?.[2];

/** The modules, by path, and the packages in files of the build. */
export function sourcesIn(files: readonly string[]): ReadonlySet<string> {
  const texts = files.map(name =>
    readFileSync(join(projectFolder, "dist", /^(repoconf|one-shot)\.js$/.test(name) ? name : `chunks/${name}`), "utf8"),
  );
  return new Set(texts.flatMap(text => [...text.matchAll(moduleComments)].map(match => nameOf(match) ?? "")));
}
