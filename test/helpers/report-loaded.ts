import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "./spawned-daemon.ts";

/** Writes to standard error, when a process ends or becomes another program, which parts of Node and which of our own files it has loaded. */
const program = `
import fs from "node:fs";
import { registerHooks } from "node:module";
const files = [];
const { readFileSync } = fs;
// The short way's own file is no module (main/cli/load-one-shot.ts).
fs.readFileSync = (path, ...rest) => {
  if (/one-shot\\.js/.test(path)) files.push(path.split("/").at(-1));
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

/** The modules, by path, and the packages in files of the build, which names each in a comment before its text. */
export function sourcesIn(files: readonly string[]): ReadonlySet<string> {
  const texts = files.map(name =>
    readFileSync(join(projectFolder, "dist", /^(repoconf|one-shot)\.js$/.test(name) ? name : `chunks/${name}`), "utf8"),
  );
  const named = /^\t?\/\/ (?:\S*\bnode_modules\/((?:@[^/\n]+\/)?[^/\n]+)\/|((?:main|shared)\/\S+\.ts)$)/gm;
  return new Set(
    texts.flatMap(text => [...text.matchAll(named)].map(([, library, module]) => library ?? module ?? "")),
  );
}
