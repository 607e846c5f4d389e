import { killedBy } from "./mutant.ts";

/** Ways to tell other values than are stored. */
export const mutants = [
  ...killedBy("values", "test/main/daemon/new-rules.test.ts", {
    "waiting for the values by a new schema": {
      file: "main/store/repository/repositories.ts",
      find: "repository?.isUpToDate ? this.get(id)",
      replace: "repository?.loaded ? this.get(id)",
      name: ", and the log is slow",
    },
  }),
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
  ...killedBy("values", "test/e2e/exact-values.test.ts", {
    "the check of numbers that are typed": {
      file: "shared/typed-value.ts",
      find: "return parseExactJson(text);",
      replace: "return JSON.parse(text) as JsonValue;",
      name: "a whole number that would be rounded is refused",
    },
  }),
  ...killedBy("values", "test/screen/typed-texts.test.ts", {
    "refusing numbers that would be rounded": {
      file: "renderer/fields/read-text.ts",
      find: "if (!isExactNumber(inJson)) return",
      replace: "if (!isExactNumber(inJson) && inJson === whole) return",
      name: "that would be stored as another number is refused",
    },
  }),
  ...killedBy("values", "test/main/daemon/null-values.test.ts", {
    "a stored null in events and histories (told as the default)": {
      file: "main/daemon/config/change-views.ts",
      find: "after === undefined ? unstored : after",
      replace: "after ?? unstored",
      name: "null is told as null",
    },
  }),
];
