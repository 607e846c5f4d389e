import type { HistoryEntry } from "../../shared/protocol.ts";
import { byActor } from "../page/by-actor.ts";
import { When } from "../page/when.tsx";

/** When something changed, and by whom. */
export function EntryFacts({ entry }: { readonly entry: HistoryEntry }) {
  return (
    <p className="hint">
      <When time={entry.time} /> {describeSource(entry)}
    </p>
  );
}

/** Whether there is an earlier state to revert to. */
export function canBeReverted({ revision, source }: HistoryEntry): boolean {
  return revision > 1 && source !== "forget" && source !== "recovery";
}

const sources: Readonly<Record<HistoryEntry["source"], string>> = {
  set: "",
  unset: ", back to defaults",
  file: "",
  merge: ", merged with a set made at the same time",
  restore: ", restored",
  recovery: ": what changed is not known",
  forget: "",
};

function describeSource(entry: HistoryEntry): string {
  // What counts then may be the value of another layer.
  const isLayered = entry.source === "unset" && entry.layer !== undefined;
  return `${describeActor(entry)}${isLayered ? ", values taken out" : sources[entry.source]}`;
}

/** Who made the change, and on which machine if several share a log: another machine's owner may be somebody else. */
export function describeActor({ actor, source, machine }: HistoryEntry): string {
  if (source === "recovery") return `by a start after records were lost${onMachine(machine)}`;
  return machine === undefined || actor === "file"
    ? `${byActor(actor)}${onMachine(machine)}`
    : `by ${actor} on ${machine}`;
}

function onMachine(machine: string | undefined): string {
  return machine === undefined ? "" : ` on ${machine}`;
}
