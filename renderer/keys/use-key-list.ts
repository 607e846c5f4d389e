import { useEffect, useState } from "react";
import { limits } from "../../shared/limits.ts";
import type { ListedKey } from "../../shared/protocol.ts";
import { daemon } from "../state/connection.ts";
import { messageOf } from "../state/notices.ts";
import { useScreen } from "../state/store.ts";

/** Milliseconds after which the list is loaded again, because no event reports the use of a key. */
const refreshTime = 10_000;

export interface KeyList {
  /** Keys and sessions, by name. */
  readonly entries: readonly ListedKey[];
  /** The id of this window's own session. */
  readonly own: string;
}

/** The existing keys and sessions, kept up to date while a page shows them. */
export function useKeyList(): { readonly list: KeyList | undefined; readonly problem: string | undefined } {
  const changes = useScreen(state => state.keyChanges);
  const connected = useScreen(state => state.connection === "connected");
  const [list, setList] = useState<KeyList>();
  const [problem, setProblem] = useState<string>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change of the keys asks for them anew.
  useEffect(() => {
    if (!connected) return;
    let isWanted = true;
    const load = async () => {
      try {
        const next = await fetchList();
        if (!isWanted) return;
        setList(next);
        setProblem(undefined);
      } catch (error) {
        if (isWanted) setProblem(messageOf(error));
      }
    };
    void load();
    const timer = setInterval(() => void load(), refreshTime);
    return () => {
      isWanted = false;
      clearInterval(timer);
    };
  }, [changes, connected]);
  return { list, problem };
}

async function fetchList(): Promise<KeyList> {
  const { id: own } = await daemon().run("key/self", {});
  const entries: ListedKey[] = [];
  const limit = limits.pageLength;
  for (let isLast = false; !isLast; ) {
    const after = entries.at(-1)?.id;
    const page = await daemon().run("key/list", { limit, ...(after !== undefined && { after }) });
    entries.push(...page);
    isLast = page.length < limit;
  }
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  entries.sort((one, other) => collator.compare(one.name, other.name) || (one.createdAt < other.createdAt ? -1 : 1));
  return { entries, own };
}
