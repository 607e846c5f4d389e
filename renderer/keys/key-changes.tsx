import { useCallback, useState } from "react";
import { limits } from "../../shared/limits.ts";
import type { FoundHistoryEntry, ListedKey } from "../../shared/protocol.ts";
import { RevertChangesDialog } from "../activity/revert-changes-dialog.tsx";
import { Choose } from "../parts/choose.tsx";
import { When } from "../parts/when.tsx";
import { daemon } from "../state/connection.ts";
import { nameOfRepository, useScreen } from "../state/store.ts";
import { fieldsChanged } from "../state/undo.ts";
import { useAnswer } from "../state/use-answer.ts";

/** How far back changes of keys are looked for. */
const longest = "7d";

const spans = [
  { id: "1h", text: "the last hour" },
  { id: "24h", text: "the last 24 hours" },
  { id: longest, text: "the last 7 days" },
];

/**
 * The last change of each key, by its id, among the newest changes of the last days. They are read again when `moment` changes: a search of
 * all histories is too much for each time that the list of keys is loaded.
 */
export function useLastChanges(moment: string): ReadonlyMap<string, FoundHistoryEntry> {
  const query = { query: `since:${longest}`, limit: limits.pageLength };
  const { result } = useAnswer(() => daemon().request("history/search", query), [moment]) ?? {};
  const last = new Map<string, FoundHistoryEntry>();
  for (const entry of result ?? []) if (entry.key !== undefined && !last.has(entry.key)) last.set(entry.key, entry);
  return last;
}

/** What a key changed last, and when. */
export function LastChange({ entry }: { readonly entry: FoundHistoryEntry }) {
  const name = useScreen(state => nameOfRepository(state, entry.repo));
  const [first = "", ...more] = fieldsChanged(entry);
  return (
    <>
      <code>{first}</code>
      {more.length > 0 && ` and ${more.length} more`} in {name}, <When time={entry.time} />
    </>
  );
}

/** Shows what a key changed in a time that a person chooses, and reverts it. */
export function RevertKeyDialog({ entry: { id, name }, onClose }: { readonly entry: ListedKey; onClose(): void }) {
  const [since, setSince] = useState("1h");
  const find = useCallback(() => changesOf(id, since), [id, since]);
  return (
    <RevertChangesDialog
      title={`Undo what the key ${name} changed`}
      name={`the changes of ${name}`}
      find={find}
      onClose={onClose}
    >
      <Choose label="Made in" shown="above" options={spans} chosen={since} onChoose={setSince} />
    </RevertChangesDialog>
  );
}

/** The changes of a key, newest first, by its id: an earlier key may have had its name. */
async function changesOf(id: string, since: string): Promise<readonly FoundHistoryEntry[]> {
  const entries: FoundHistoryEntry[] = [];
  for await (const entry of daemon().activity(`since:${since}`))
    if (entry.key === id && entry.source !== "forget") entries.push(entry);
  return entries;
}
