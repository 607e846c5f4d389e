import { useEffect, useState } from "react";
import type { Matrix } from "../../shared/protocol.ts";
import { daemon } from "../state/connection.ts";
import { messageOf } from "../state/notices.ts";
import { screenStore, useScreen } from "../state/store.ts";

/** Milliseconds to wait for further changes of repositories before the daemon is queried again. */
const refreshDelay = 500;

/** The result of a query, kept up to date while a page shows it. On a problem, the previous result is kept. */
export function useMatrix(query: string): {
  readonly matrix: Required<Matrix> | undefined;
  readonly problem: string | undefined;
} {
  const connected = useScreen(state => state.connection === "connected");
  const [matrix, setMatrix] = useState<Required<Matrix>>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    if (!connected) return;
    let isWanted = true;
    let isAsking = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isStale = false;
    const ask = async () => {
      isAsking = true;
      isStale = false;
      try {
        const next = await daemon().matrix(query);
        if (!isWanted) return;
        setMatrix(next);
        setProblem(undefined);
      } catch (error) {
        if (isWanted) setProblem(messageOf(error));
      } finally {
        isAsking = false;
        if (isStale) askLater();
      }
    };
    const askLater = () => {
      isStale = true;
      if (isAsking || !isWanted) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        void ask();
      }, refreshDelay);
    };
    void ask();
    const unsubscribe = screenStore.subscribe((state, before) => {
      if (state.repositories !== before.repositories || state.scopes !== before.scopes) askLater();
    });
    return () => {
      isWanted = false;
      clearTimeout(timer);
      unsubscribe();
    };
  }, [query, connected]);
  return { matrix, problem };
}
