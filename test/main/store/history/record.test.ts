import fc from "fast-check";
import { expect, test } from "vitest";
import { type ChangeRecord, formatLines, noHash, parseLine } from "../../../../main/store/history/record.ts";
import type { JsonValue } from "../../../../shared/json.ts";
import { changeTo } from "../../../helpers/journal.ts";

const json = fc.jsonValue({ maxDepth: 2 }).map(value => JSON.parse(JSON.stringify(value)) as JsonValue);
const record: fc.Arbitrary<ChangeRecord> = fc
  .record({ revision: fc.nat(), reason: fc.string({ unit: "binary" }), before: json, after: json })
  .map(({ revision, reason, before, after }) => ({
    ...changeTo(revision + 2),
    reason,
    changes: [{ scope: "svc", field: "timeout", before, after }],
  }));

test("records are read as they were written, each with the hash of the previous one", () => {
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 5 }), records => {
      const { text, hash } = formatLines(records, noHash);
      expect(text.endsWith("\n")).toBe(true);
      const lines = text.slice(0, -1).split("\n").map(parseLine);
      expect(lines.map(line => line?.record)).toEqual(records);
      expect(lines.map(line => line?.previous)).toEqual([noHash, ...lines.slice(0, -1).map(line => line?.hash)]);
      expect(lines.at(-1)?.hash).toBe(hash);
    }),
  );
});

test("invalid UTF-8 is not mistaken for the replacement character that it decodes to", () => {
  const { text } = formatLines([{ ...changeTo(1), reason: "\ufffd" }], noHash);
  expect(text).not.toContain("\ufffd");
  expect(parseLine(text.slice(0, -1))?.record).toMatchObject({ reason: "\ufffd" });
});
