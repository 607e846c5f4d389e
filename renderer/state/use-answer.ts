import { useEffect, useState } from "react";
import { useScreen } from "./store.ts";

/**
 * What the daemon answers, while a page shows it; undefined: nothing yet. It is asked again when one of `when` changes, or the connection is
 * back. An answer that comes too late is dropped, and so is a failure: the page is shown without it.
 */
export function useAnswer<Answer>(ask: () => Promise<Answer>, when: readonly unknown[]): Answer | undefined {
  const connected = useScreen(state => state.connection === "connected");
  const [answer, setAnswer] = useState<Answer>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: those of `ask` are in `when`.
  useEffect(() => {
    if (!connected) return;
    let isWanted = true;
    ask().then(
      next => isWanted && setAnswer(() => next),
      () => {},
    );
    return () => {
      isWanted = false;
    };
  }, [connected, ...when]);
  return answer;
}
