import { isOwnScopeName } from "../../../../shared/config-path.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../shared/json.ts";
import { limits } from "../../../../shared/limits.ts";
import { isRepositoryId } from "../../../../shared/repository-id.ts";
import { deepestNesting } from "../../../files/json-text-problems.ts";
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

/**
 * Whether every member that is read later has its type, because anyone who may publish can send an entry, which histories then keep. Ids and
 * names of scopes are checked because they become file names.
 */
function isEntry(entry: unknown): entry is LogEntry {
  if (!isJsonObject(entry)) return false;
  switch (entry["kind"]) {
    case "commit":
      return isCommit(entry);
    case "remove":
      return isId(entry["repo"]);
    case "forget":
      return isForgetting(entry);
    case "rename":
      return isId(entry["repo"]) && typeof entry["name"] === "string";
    case "part":
      return isPart(entry);
    case "scope":
      return isScope(entry);
    case "end":
      return Number.isSafeInteger(entry["snapshot"]);
    default:
      return entry["kind"] === "snapshot";
  }
}

function isId(value: unknown): boolean {
  return typeof value === "string" && isRepositoryId(value);
}

function isPart({ repo, snapshot, commits, erasures }: JsonObject): boolean {
  const isErasure = (entry: JsonValue) => isJsonObject(entry) && entry["repo"] === repo && isForgetting(entry);
  const areCommits = Array.isArray(commits) && commits.every(entry => isJsonObject(entry) && isCommit(entry));
  return (
    areCommits && Array.isArray(erasures) && erasures.every(isErasure) && isId(repo) && Number.isSafeInteger(snapshot)
  );
}

function isScope({ name, text }: JsonObject): boolean {
  if (typeof name !== "string" || !isOwnScopeName(name)) return false;
  return text === null || (typeof text === "string" && Buffer.byteLength(text) <= limits.scopeBytes);
}

function isForgetting({ repo, revision, scope, field, time, actor }: JsonObject): boolean {
  const isPath = typeof scope === "string" && typeof field === "string";
  return isId(repo) && Number.isSafeInteger(revision) && isPath && isTime(time) && isActor(actor);
}

function isCommit({ documents, time, actor, source, reason = "", batch = "", machine = "" }: JsonObject): boolean {
  const areTexts = [source, reason, batch, machine].every(text => typeof text === "string");
  return areTexts && isTime(time) && isActor(actor) && Array.isArray(documents) && documents.every(isDocument);
}

function isTime(value: unknown): boolean {
  return typeof value === "string" && !Number.isNaN(Date.parse(value));
}

function isActor(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { kind, id, name } = value;
  return kind === "key" ? typeof id === "string" && typeof name === "string" : typeof kind === "string";
}

function isDocument(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { repo, lineage, revision, edits, activeEdits = [], name = "", remote = "", head = "" } = value;
  const areTexts = [lineage, name, remote, head].every(text => typeof text === "string");
  const isEdits = (list: unknown) => Array.isArray(list) && list.every(isEdit);
  return areTexts && isId(repo) && Number.isSafeInteger(revision) && isEdits(edits) && isEdits(activeEdits);
}

function isEdit(edit: unknown): boolean {
  if (!isJsonObject(edit)) return false;
  const { scope, field, value = null } = edit;
  const areNames = [scope, field].every(name => typeof name === "string" && name !== "__proto__");
  return areNames && isWritable(value, deepestNesting - 3);
}

/** Whether a file can have the value: three of the levels of a file are around a value. */
function isWritable(value: JsonValue, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (levels === 0 || Object.hasOwn(value, "__proto__")) return false;
  return Object.values(value).every((inner: JsonValue) => isWritable(inner, levels - 1));
}

export function strayMessage(stream: string, sequence: number): string {
  return `Message ${sequence} of the shared log ${stream} is not from Repoconf, and was skipped. Anyone who may publish to repoconf.${stream} can change every value: allow only your machines to.`;
}

export function unknownEntry(stream: string, sequence: number): string {
  return `Message ${sequence} of the shared log ${stream} has an entry that this version does not know, or that is malformed. It was skipped. If other machines have a newer version of Repoconf, update this one.`;
}
