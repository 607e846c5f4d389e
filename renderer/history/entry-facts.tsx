import type { HistoryEntry } from "../../shared/protocol.ts";
import { byActor } from "../parts/by-actor.ts";
import { When } from "../parts/when.tsx";
import { useScreen } from "../state/store.ts";

/** When something changed, and by whom. */
export function EntryFacts({ entry }: { readonly entry: HistoryEntry }) {
  const here = useScreen(state => state.machine);
  return (
    <p className="hint">
      <When time={entry.time} /> {describeSource(entry, here)}
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

function describeSource(entry: HistoryEntry, here: string | undefined): string {
  // What counts then may be the value of another layer.
  const isLayered = entry.source === "unset" && entry.layer !== undefined;
  return `${describeActor(entry, here)}${isLayered ? ", values taken out" : sources[entry.source]}`;
}

/** Who made the change. `here`: the name of this machine, if several share a log. */
export function describeActor(entry: HistoryEntry, here: string | undefined): string {
  const { source, machine } = entry;
  if (source !== "recovery") return byActor(entry, here);
  return `by a start after records were lost${machine === undefined ? "" : ` on ${machine}`}`;
}
