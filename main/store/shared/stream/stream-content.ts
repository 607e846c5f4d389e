import { isOwnScopeName } from "../../../../shared/config-path.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../shared/json.ts";
import { limits } from "../../../../shared/limits.ts";
import { isRepositoryId } from "../../../../shared/repository-id.ts";
import type { LogEntry } from "../../log/commit-log.ts";
import type { LogNumber } from "../../types.ts";
import type { StreamMessage } from "./stream-session.ts";

/** The content of a message. */
export interface Content {
  /** The number of its first entry. */
  readonly first: LogNumber;
  /** The id of the message that it follows. A server that was cut off from its cluster may have another one at that sequence. */
  readonly previous: string;
  /** Undefined: one that this version does not know, or that is malformed. It has a number all the same. */
  readonly entries: readonly (LogEntry | undefined)[];
}

/** The text of a message. Each of `entries` is JSON. */
export function formatContent({ first, previous }: Omit<Content, "entries">, entries: readonly string[]): string {
  return `{"first":${first},"previous":${JSON.stringify(previous)},"entries":[${entries.join(",")}]}`;
}

/** The content of a message; undefined if no daemon published it. */
export function contentOf({ data }: StreamMessage): Content | undefined {
  try {
    const content: unknown = JSON.parse(Buffer.from(data).toString("utf8"));
    if (!isJsonObject(content)) return undefined;
    const { first, previous, entries } = content;
    if (typeof first !== "number" || !Number.isSafeInteger(first) || typeof previous !== "string") return undefined;
    if (!Array.isArray(entries) || entries.length === 0) return undefined;
    return { first, previous, entries: entries.map((entry: unknown) => (isEntry(entry) ? entry : undefined)) };
  } catch {
    return undefined;
  }
}

/** Also checks ids and names of scopes, because they become file names. */
function isEntry(entry: unknown): entry is LogEntry {
  if (!isJsonObject(entry)) return false;
  switch (entry["kind"]) {
    case "commit":
      return isCommit(entry);
    case "remove":
    case "forget":
      return isRepositoryId(String(entry["repo"]));
    case "rename":
      return isRepositoryId(String(entry["repo"])) && typeof entry["name"] === "string";
    case "part":
      return isPart(entry);
    case "scope":
      return isScope(entry);
    default:
      return entry["kind"] === "snapshot" || entry["kind"] === "end";
  }
}

function isPart({ repo, commits, erasures }: JsonObject): boolean {
  const isValid = (entry: JsonValue) =>
    isJsonObject(entry) && (entry["kind"] === "commit" ? isCommit(entry) : entry["repo"] === repo);
  return [commits, erasures].every(list => Array.isArray(list) && list.every(isValid)) && isRepositoryId(String(repo));
}

function isScope({ name, text }: JsonObject): boolean {
  if (typeof name !== "string" || !isOwnScopeName(name)) return false;
  return text === null || (typeof text === "string" && Buffer.byteLength(text) <= limits.scopeBytes);
}

function isCommit({ documents }: JsonObject): boolean {
  return Array.isArray(documents) && documents.every(isDocument);
}

function isDocument(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { repo, revision, edits, activeEdits = [] } = value;
  const isEdits = (list: unknown) =>
    Array.isArray(list) &&
    list.every(edit => isJsonObject(edit) && typeof edit["scope"] === "string" && typeof edit["field"] === "string");
  return isRepositoryId(String(repo)) && Number.isSafeInteger(revision) && isEdits(edits) && isEdits(activeEdits);
}

export function strayMessage(stream: string, sequence: number): string {
  return `Message ${sequence} of the shared log ${stream} is not from Repoconf, and was skipped. Anyone who may publish to repoconf.${stream} can change every value: allow only your machines to.`;
}

export function unknownEntry(stream: string, sequence: number): string {
  return `Message ${sequence} of the shared log ${stream} has an entry that this version does not know, or that is malformed. It was skipped. If other machines have a newer version of Repoconf, update this one.`;
}
