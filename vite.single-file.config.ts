import { createHash } from "node:crypto";
import type { Plugin, UserConfig } from "vite";
import command, { plainBuiltins } from "./vite.config.ts";

/**
 * A part of the command as one file that shares nothing with the chunks of the others: loading many files takes longer than loading some
 * code twice. It is an expression that main/cli/load-compiled.ts runs.
 */
function singleFile(name: string, input: string, isPlain: boolean): UserConfig {
  return {
    ...command,
    plugins: [...(isPlain ? [plainBuiltins(true)] : (command.plugins ?? [])), asExpression()],
    build: {
      ...command.build,
      rolldownOptions: {
        // Nothing in it happens when a file is loaded, so what is not used is left out, even if a file imports it.
        ...(isPlain && { treeshake: { moduleSideEffects: false } }),
        input: { [name]: input },
        output: {
          ...command.build?.rolldownOptions?.output,
          codeSplitting: false,
          format: "cjs",
        },
      },
    },
  };
}

/** The commands that are one request, what starts a daemon for them, and the daemon. */
export default [
  singleFile("one-shot", "main/cli/one-shot/run.ts", true),
  singleFile("start-or-end", "main/cli/connect/start-or-end.ts", true),
  singleFile("daemon", "main/cli/daemon-program.ts", false),
];

/** Makes a function of the file's name of it. The code that V8 has compiled of it is known to be of it by the hash at its end. */
function asExpression(): Plugin {
  return {
    name: "as-expression",
    generateBundle(_, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== "chunk") continue;
        const whole = `(__filename => {
"use strict";
const require = process.getBuiltinModule;
const __dirname = require("node:path").dirname(__filename);
const exports = {};
${chunk.code.trimEnd()}
return exports;
})`;
        // Of a text in ASCII, V8 keeps one byte for each character.
        const code = whole.replace(
          /[\u0080-\uffff]/g,
          character => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
        );
        const hash = createHash("sha256").update(code).digest("hex").slice(0, 16);
        chunk.code = `${code}\n// ${hash}`;
      }
    },
  };
}
