import type { UserConfig } from "vite";
import command, { plainBuiltins } from "./vite.config.ts";

/**
 * The commands that are one request (main/cli/one-shot/), as one file that shares nothing with the chunks of the others: loading several
 * files takes longer than loading some code twice.
 */
export default {
  ...command,
  plugins: [plainBuiltins(true)],
  build: {
    ...command.build,
    rolldownOptions: {
      // Nothing in it happens when a file is loaded, so what is not used is left out, even if a file imports it.
      treeshake: { moduleSideEffects: false },
      input: { "one-shot": "main/cli/one-shot/run.ts" },
      output: { ...command.build?.rolldownOptions?.output, codeSplitting: false },
    },
  },
} satisfies UserConfig;
