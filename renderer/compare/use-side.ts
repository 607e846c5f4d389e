import { type ParseError, parse } from "jsonc-parser";
import { useEffect, useMemo, useState } from "react";
import { applyConfigEdits, type Config } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import type { ComparedSide } from "../state/compared-side.ts";
import { daemon } from "../state/connection.ts";
import { open } from "../state/navigation.ts";
import { messageOf } from "../state/notices.ts";
import { findRepository, type ScreenState, useScreen } from "../state/store.ts";
import type { SideValues } from "./compared-fields.ts";

/** The values of a side; empty while none is chosen or they are being loaded. */
interface FoundSide {
  readonly values?: SideValues | undefined;
  readonly problem?: string;
}

const noEdits: SideValues["edits"] = new Map();
const defaults: FoundSide = { values: { config: {}, edits: noEdits } };

/** Loads the values of a side and keeps them up to date while a page shows them. */
export function useSide(side: ComparedSide | undefined): FoundSide {
  const repo = side === undefined || side.kind === "defaults" ? undefined : side.repo;
  const entry = useScreen(state => (repo === undefined ? undefined : findRepository(state, repo)));
  const stored = useScreen(state => (repo === undefined ? undefined : state.opened.get(repo)?.stored));
  const pending = useScreen(state => state.pending);
  const isKnown = useScreen(state => state.repositories !== undefined);
  const connected = useScreen(state => state.connection === "connected");
  const [read, setRead] = useState<FoundSide & { readonly of: ComparedSide }>();
  useEffect(() => {
    if (!connected || side === undefined || side.kind === "defaults" || entry === undefined) return;
    if (side.kind === "now") return void open(side.repo);
    let isWanted = true;
    const take = (found: FoundSide) => isWanted && setRead({ ...found, of: side });
    readSide(side, entry).then(
      config => take({ values: { config, edits: noEdits } }),
      (error: unknown) => take({ problem: messageOf(error) }),
    );
    return () => {
      isWanted = false;
    };
    // A new revision or health arrives as a new entry: the file may have changed, or older values may be erased.
  }, [side, entry, connected]);
  const isNow = side?.kind === "now";
  const now = useMemo(
    () => (isNow && stored !== undefined ? withEdits(side.repo, stored, pending) : undefined),
    [isNow, side, stored, pending],
  );
  if (side === undefined) return {};
  if (side.kind === "defaults") return defaults;
  if (isKnown && entry === undefined)
    return { problem: `There is no repository ${side.repo}. It may have been removed: choose another.` };
  if (side.kind === "now") return { values: now };
  return read?.of === side ? read : {};
}

function withEdits(repo: string, stored: Config, pending: ScreenState["pending"]): SideValues {
  const edits = [...pending.values()].filter(one => one.repo === repo);
  return {
    config: applyConfigEdits(stored, edits),
    edits: new Map(edits.map(one => [joinConfigPath(one.scope, one.field), one])),
  };
}

async function readSide(
  side: Extract<ComparedSide, { readonly kind: "file" | "revision" }>,
  entry: RepositoryEntry,
): Promise<Config> {
  if (side.kind === "revision")
    return daemon().run("config/list", { repo: side.repo, revision: side.revision, stored: true });
  const { file, text } = await daemon().run("file/read", { repo: side.repo });
  if (text !== null) return configIn(text, file);
  // If nothing is stored, the file need not exist.
  if (entry.health.length === 0) return {};
  throw new Error(`${file} does not exist or is not a text file.`);
}

/** The values in the text of a repository's file, valid or not. */
function configIn(text: string, file: string): Config {
  const errors: ParseError[] = [];
  const root: unknown = parse(text, errors, { disallowComments: false, allowTrailingComma: false });
  if (errors.length > 0 || !isJsonObject(root))
    throw new Error(
      `${file} is not valid JSON, so its values cannot be compared. The repository's JSON view shows where.`,
    );
  const config = root["config"] ?? {};
  const isScope = (entry: [string, JsonValue]): entry is [string, Config[string]] => isJsonObject(entry[1]);
  return isJsonObject(config) ? Object.fromEntries(Object.entries(config).filter(isScope)) : {};
}
