import { useEffect, useRef, useState } from "react";
import { configValue } from "../../shared/config.ts";
import { splitConfigPath } from "../../shared/config-path.ts";
import type { JsonValue } from "../../shared/json.ts";
import type { MatrixRow, RepositoryEntry } from "../../shared/protocol.ts";
import { daemon } from "../state/connection.ts";
import { findRepository, screenStore, useScreen } from "../state/store.ts";

/** Milliseconds before newly visible cells are requested: while somebody scrolls, they are not needed. */
const askDelay = 60;

/** Milliseconds after which cells that the daemon did not answer are requested again. */
const retryDelay = 1_000;

interface Cell {
  /** The effective value; undefined: masked or not readable. */
  readonly value: JsonValue | undefined;
  readonly isStored: boolean;
}

/** The known cells of a repository. */
interface KnownRow {
  readonly revision: number;
  /** The health at that revision: it affects which values are active. */
  readonly health: RepositoryEntry["health"] | undefined;
  /** By `<scope>.<field>`. */
  readonly cells: ReadonlyMap<string, Cell>;
}

type KnownRows = ReadonlyMap<string, KnownRow>;

/** The cell of a repository's field; undefined: not known yet. */
export type CellOf = (repo: string, field: string) => Cell | undefined;

/** The cells of these repositories and fields (the visible ones), requested once, and again when a repository has changed. */
export function useCells(repos: readonly string[], fields: readonly string[]): CellOf {
  const connected = useScreen(state => state.connection === "connected");
  const repositories = useScreen(state => state.repositories);
  const scopes = useScreen(state => state.scopes);
  const known = useRef<{ scopes: typeof scopes; rows: KnownRows }>({ scopes, rows: new Map() });
  const [answers, setAnswers] = useState(0);
  const isAsking = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each answer, and each change of a repository, may leave something to ask for.
  useEffect(() => {
    if (!connected) return;
    const timer = setTimeout(async () => {
      if (isAsking.current) return;
      // A new schema may have other defaults.
      if (known.current.scopes !== scopes) known.current = { scopes, rows: new Map() };
      const missing = repos.filter(repo => !isKnown(known.current.rows.get(repo), repo, fields));
      if (missing.length === 0 || fields.length === 0) return;
      isAsking.current = true;
      try {
        const entries = missing.map(repo => [repo, findRepository(screenStore.getState(), repo)] as const);
        const answered = new Map((await daemon().cells(missing, fields)).map(row => [row.repo, row]));
        const rows = new Map(known.current.rows);
        for (const [repo, entry] of entries)
          rows.set(repo, withAnswer(rows.get(repo), entry, answered.get(repo), fields));
        known.current = { scopes, rows };
      } catch {
        // A lost connection is already shown, and the next one requests them again; a daemon that is too busy is asked again.
        await new Promise(resolve => setTimeout(resolve, retryDelay));
      } finally {
        isAsking.current = false;
      }
      setAnswers(count => count + 1);
    }, askDelay);
    return () => clearTimeout(timer);
  }, [repos, fields, repositories, scopes, connected, answers]);
  return (repo, field) => known.current.rows.get(repo)?.cells.get(field);
}

function isKnown(row: KnownRow | undefined, repo: string, fields: readonly string[]): boolean {
  const entry = findRepository(screenStore.getState(), repo);
  // The repository was removed, and its row will be.
  if (entry === undefined) return true;
  if (row === undefined || row.revision < entry.revision || row.health !== entry.health) return false;
  return fields.every(field => row.cells.has(field));
}

/** Keeps earlier cells only if they are of the same state of the repository. */
function withAnswer(
  before: KnownRow | undefined,
  entry: RepositoryEntry | undefined,
  answer: MatrixRow | undefined,
  fields: readonly string[],
): KnownRow {
  const revision = answer?.revision ?? entry?.revision ?? 0;
  const isSame = before?.revision === revision && before.health === entry?.health;
  const cells = new Map(isSame ? before.cells : []);
  const stored = new Set(answer?.stored);
  for (const field of fields) {
    const path = splitConfigPath(field);
    const value = path && configValue(answer?.config ?? {}, path.scope, path.field);
    cells.set(field, { value, isStored: stored.has(field) });
  }
  return { revision, health: entry?.health, cells };
}
