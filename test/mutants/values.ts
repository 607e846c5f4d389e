import { killedBy } from "./mutant.ts";

/** Ways to tell other values than are stored. */
export const mutants = [
  ...killedBy("values", "test/main/daemon/exact-numbers.test.ts", {
    "the check of numbers in a file": {
      file: "main/files/json-text-scan.ts",
      find: "if (!isExactNumberIn(body, at, end)) return undefined;",
      name: "in a file edited by hand",
    },
    "the decoder that notices numbers in messages before they are rounded": {
      file: "main/daemon/socket/reply-parser.ts",
      find: ", Decoder: ExactDecoder",
      name: "that a message would lose digits of",
    },
    "the limit of whole numbers": {
      file: "shared/schema/keywords.ts",
      find: "Number.isSafeInteger(value)",
      replace: "Number.isInteger(value)",
      name: "that a client may have rounded itself",
    },
  }),
];
