import { killedBy } from "./mutant.ts";

/** Ways for a value or secret to go wrong on its way into a shell or program. */
export const mutants = [
  ...killedBy("shell", "test/e2e/run.test.ts", {
    "checking for untrusted variables before a command runs": {
      file: "shared/variables.ts",
      find: "if (untrusted.length > 0) {",
      replace: "if (untrusted.length > 100) {",
      name: "a work tree's variables wait for trust",
    },
  }),
  ...killedBy("shell", "test/e2e/env.test.ts", {
    "the escaping of an apostrophe for shells": {
      file: "shared/shell-quoted.ts",
      find: `text.replaceAll("'", "'\\\\''")`,
      replace: "text",
      name: "reads back as it was",
    },
    "the refusal of an argument that the program would parse as an option": {
      file: "main/cli/environment/secrets.ts",
      find: `argument.startsWith("-")`,
      replace: `argument.startsWith("--never")`,
      name: "an argument that would be an option",
    },
  }),
  ...killedBy("shell", "test/e2e/masked-values.test.ts", {
    "masking JSON output": {
      file: "main/cli/output/masking.ts",
      find: "return isMasked(fields.get(path)) ? maskValue(value, mask) : value;",
      replace: "return value;",
      name: "no command prints a masked value without --reveal",
    },
  }),
];
