/**
 * A script that edits a repository's file by hand, `hand-editing-process.ts FILE SCOPE FIELDS`: it reads the file, changes one
 * field, renames a new file over it, and after the daemon's next write checks whether its edit is there; if not, it repeats the
 * edit. Sends a message for each edit; ends at the first message received and sends what it wrote.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

export interface HandEditing {
  /** Field and value, in order. */
  readonly edits: readonly (readonly [field: string, value: string])[];
  /** When the repeated edits were made, from before the file was replaced to after it, in microseconds of `hrtime`. */
  readonly repeats: readonly (readonly [from: number, to: number])[];
}

const [file = "", scope = "", count = "0"] = process.argv.slice(2);
type Parsed = { config: { [scope: string]: { [field: string]: unknown } } };
const read = (): Parsed => JSON.parse(readFileSync(file, "utf8"));

const now = () => Number(process.hrtime.bigint() / 1_000n);

function edit(field: string, value: string): [from: number, to: number] {
  const parsed = read();
  parsed.config[scope] = { ...parsed.config[scope], [field]: value };
  writeFileSync(`${file}.hand`, JSON.stringify(parsed, null, 2));
  const from = now();
  renameSync(`${file}.hand`, file);
  return [from, now()];
}

/** Waits until the daemon has rewritten the file, but not forever, as it may have nothing to write. */
async function settled(): Promise<void> {
  const text = readFileSync(file, "utf8");
  for (let turn = 0; turn < 200 && readFileSync(file, "utf8") === text; turn++) await delay(5);
}

const edits: [string, string][] = [];
const repeats: [from: number, to: number][] = [];
let ended = false;
process.once("message", () => {
  ended = true;
});
while (!ended) {
  const [field, value] = [`hand_${edits.length % Number(count)}`, `edit ${edits.length}`];
  for (;;) {
    const made = edit(field, value);
    await settled();
    if (read().config[scope]?.[field] === value) break;
    repeats.push(made);
  }
  edits.push([field, value]);
  process.send?.("edited");
  await delay(Math.random() * 40);
}
process.send?.({ edits, repeats } satisfies HandEditing, () => process.disconnect());
