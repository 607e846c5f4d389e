import { useEffect, useMemo, useState } from "react";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { Matrix, RepositoryEntry } from "../../shared/protocol.ts";
import { daemon } from "../state/connection.ts";
import { messageOf } from "../state/notices.ts";
import { type ScopeEntry, screenStore, useScreen } from "../state/store.ts";

/** Milliseconds to wait for further changes of repositories before the daemon is queried again. */
const refreshDelay = 500;

interface FoundMatrix {
  readonly matrix: Required<Matrix> | undefined;
  /** Whether the values of its fields have been counted. */
  readonly isCounted: boolean;
  readonly problem: string | undefined;
}

/**
 * The result of a query, kept up to date while a page shows it. On a problem, the previous result is kept. What is found without a query is
 * known at once; to count the values of very many repositories, the daemon has to read them all first.
 */
export function useMatrix(query: string): FoundMatrix {
  const repositories = useScreen(state => state.repositories);
  const scopes = useScreen(state => state.scopes);
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
  const isKnown = matrix === undefined && repositories !== undefined && query.trim() === "";
  const all = useMemo(() => (isKnown ? matrixOfAll(repositories, scopes) : undefined), [isKnown, repositories, scopes]);
  return { matrix: matrix ?? all, isCounted: matrix !== undefined, problem };
}

function matrixOfAll(repositories: readonly RepositoryEntry[], scopes: readonly ScopeEntry[]): Required<Matrix> {
  // Linked worktrees are only found when a query asks for them.
  const ids = repositories.filter(({ base }) => base === undefined).map(({ id }) => id);
  const fields = scopes.flatMap(({ scope, schema }) =>
    Object.keys(schema.properties).map(field => ({ field: joinConfigPath(scope, field), of: ids.length })),
  );
  return { repositories: ids, total: { repositories: ids.length, fields: fields.length }, fields };
}
