import { createHash } from "node:crypto";
import type { Plugin, UserConfig } from "vite";
import command, { plainBuiltins } from "./vite.config.ts";

/**
 * The commands that are one request (main/cli/one-shot/), as one file that shares nothing with the chunks of the others: loading several
 * files takes longer than loading some code twice. It is an expression that main/cli/load-one-shot.ts runs.
 */
export default {
  ...command,
  plugins: [plainBuiltins(true), endWithHash()],
  build: {
    ...command.build,
    rolldownOptions: {
      // Nothing in it happens when a file is loaded, so what is not used is left out, even if a file imports it.
      treeshake: { moduleSideEffects: false },
      input: { "one-shot": "main/cli/one-shot/run.ts" },
      output: {
        ...command.build?.rolldownOptions?.output,
        codeSplitting: false,
        format: "cjs",
        banner: "(exports => {",
        footer: "return exports;\n})({})",
      },
    },
  },
} satisfies UserConfig;

/** The code that V8 has compiled of the file is known to be of it by this hash. */
function endWithHash(): Plugin {
  return {
    name: "end-with-hash",
    generateBundle(_, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== "chunk") continue;
        const hash = createHash("sha256").update(chunk.code).digest("hex").slice(0, 16);
        chunk.code = `${chunk.code.trimEnd()}\n// ${hash}`;
      }
    },
  };
}
