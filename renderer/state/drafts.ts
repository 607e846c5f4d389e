import type { RepoconfClient } from "../../shared/client/client.ts";
import { RepoconfError } from "../../shared/errors.ts";
import { sameJson } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import type { Draft, DraftName, DraftsChanged, KeptDraft, OperationResults } from "../../shared/protocol.ts";
import { shell } from "../shell.ts";
import { bytesOf, draftsOf, keyOf, nameOf, withFields, withTexts } from "./draft-forms.ts";
import { withConflicts } from "./edits.ts";
import { mergeDrafts } from "./merge-drafts.ts";
import { dismissAbout, notify } from "./notices.ts";
import { findRepository, nameOfRepository, type ScreenState, screenStore } from "./store.ts";

/*
 * The daemon stores unsaved edits of fields and of files' texts, each separately, so that windows do not overwrite each other's
 * edits. This module follows the store, sends what the daemon lacks, and applies what other windows sent.
 */

/** How long edits are collected before they are sent, in milliseconds. */
const sendDelay = 150;
/** The maximum of bytes of drafts, or of their names, in one message. */
const partBytes = limits.messageBytes - 1_000;

/** The daemon's last known state of a draft; undefined: it was removed. */
interface Kept {
  readonly draft: Draft | undefined;
  /** The revision of that state. */
  readonly revision: number;
  /** Whether it is lost when the daemon ends. */
  readonly inMemory: boolean;
}

let client: RepoconfClient | undefined;
/** By `keyOf`. */
let kept = new Map<string, Kept>();
let loadedRevision = 0;
/** What was sent but not answered yet, by `keyOf`; undefined: removed. */
let underway: ReadonlyMap<string, Draft | undefined> = new Map();
let timer: ReturnType<typeof setTimeout> | undefined;
/** Whether the person was notified that the daemon does not store everything. */
let isNotified = false;
let turn: Promise<void> = Promise.resolve();

/** Sends edits to the daemon from now on. The browser asks before it leaves a page with edits that are not stored yet. */
export function keepDrafts(): void {
  screenStore.subscribe((state, before) => {
    if (state.pending !== before.pending || state.drafts !== before.drafts) sendSoon();
  });
  shell?.onLeave(sendDrafts);
  document.addEventListener("visibilitychange", sendNow);
  window.addEventListener("pagehide", sendLast);
  window.addEventListener("beforeunload", event => {
    // The app's window closes with the app, and the app's daemon with it.
    if (shell !== undefined) loseDrafts();
    if (!hasUnkeptDrafts()) return;
    sendLast();
    event.preventDefault();
  });
}

/** Loads the daemon's drafts. Edits made here meanwhile are kept and sent. */
export function loadDrafts(own: RepoconfClient): Promise<void> {
  client = own;
  return inTurn(async () => {
    const { result, errors, revision = 0 } = await own.request("draft/list", {});
    if (client !== own || errors.length > 0) return;
    const before = kept;
    kept = new Map(result.map(draft => [keyOf(draft), keptOf(draft, revision)]));
    loadedRevision = revision;
    // Drafts that the daemon lacks stay here: another window may have dropped them, but the daemon may also have lost them.
    applyDraft(result.map(plainDraft), [], draftsIn(before));
    sendNow();
  });
}

/** Applies drafts that another window has sent, and sends what both windows make of them. */
export function takeDrafts({ revision, drafts, removed }: DraftsChanged): void {
  const isNewer = (name: Draft | DraftName) => revision > (kept.get(keyOf(name))?.revision ?? loadedRevision);
  const before = draftsIn(kept);
  const changed = drafts.filter(isNewer);
  const dropped = removed.filter(isNewer);
  for (const draft of changed) kept.set(keyOf(draft), keptOf(draft, revision));
  for (const name of dropped) kept.set(keyOf(name), { draft: undefined, revision, inMemory: false });
  // What this window has sent is no news, whatever it has edited since.
  const isOthers = (name: Draft | DraftName, draft?: Draft) =>
    !(underway.has(keyOf(name)) && sameJson(underway.get(keyOf(name)), draft));
  const others = changed.map(plainDraft).filter(draft => isOthers(draft, draft));
  applyDraft(
    others,
    dropped.filter(name => isOthers(name)),
    before,
  );
  sendSoon();
}

/** The daemon may have ended and lost the drafts that were only in its memory. */
export function loseDrafts(): void {
  kept = new Map([...kept].filter(([, { inMemory }]) => !inMemory));
}

/** Clears all edits in this window; the daemon keeps them. */
export function forgetDrafts(): void {
  client = undefined;
  kept = new Map();
  screenStore.setState({ pending: new Map(), drafts: new Map() });
}

export function hasUnkeptDrafts(): boolean {
  const { drafts, removed } = unkept();
  return drafts.length > 0 || removed.length > 0;
}

/** Sends what the daemon lacks, if anything. */
export function sendDrafts(): Promise<void> {
  clearTimeout(timer);
  timer = undefined;
  return inTurn(send);
}

/** Runs steps in sequence, so that a reply always belongs to what was sent last. */
function inTurn(step: () => Promise<void>): Promise<void> {
  const run = turn.then(step).catch(error => {
    // What was not stored is sent on the next connection.
    if (!(error instanceof RepoconfError)) throw error;
  });
  turn = run.catch(() => {});
  return run;
}

function sendNow(): void {
  void sendDrafts();
}

function sendSoon(): void {
  timer ??= setTimeout(sendNow, sendDelay);
}

/**
 * The page goes away: sends what the daemon lacks at once, instead of after the reply to what was sent before. It counts whatever
 * another window has sent meanwhile, because nobody could merge it any more.
 */
function sendLast(): void {
  const { drafts, removed } = unkept();
  for (const args of messagesWith(drafts, removed)) {
    underway = new Map([...underway, ...sentBy(args)]);
    client?.request("draft/set", args).catch(() => {});
  }
}

function isFitting(draft: Draft): boolean {
  return bytesOf(draft) <= partBytes;
}

function messagesWith(drafts: readonly Draft[], removed: readonly DraftName[]) {
  const state = screenStore.getState();
  // The daemon keeps no drafts of a removed repository.
  const wanted = drafts.filter(draft => isFitting(draft) && findRepository(state, draft.repo) !== undefined);
  return [
    // Removals first, because they free space.
    ...inParts(removed).map(part => ({ drafts: [], removed: part })),
    ...inParts(wanted).map(part => ({ drafts: part, removed: [] })),
  ];
}

async function send(): Promise<void> {
  const own = client;
  const { drafts, removed } = unkept();
  // After a lost connection, the daemon's drafts are loaded first.
  if (own === undefined || screenStore.getState().connection !== "connected") return;
  if (drafts.length === 0 && removed.length === 0) return;
  const refusals = drafts.every(isFitting) ? [] : ["A text is too large."];
  for (const args of messagesWith(drafts, removed)) {
    const sent = sentBy(args);
    underway = sent;
    const { result, errors } = await own.request("draft/set", withKnown(args)).finally(() => {
      underway = new Map();
    });
    if (client !== own) return;
    const [first] = errors;
    // Handled like a lost connection.
    if (first?.code === 1100 || first?.code === 1113) return;
    if (first === undefined) noteKept(sent, result);
    else refusals.push(first.message);
  }
  const [refusal] = refusals;
  if (refusal === undefined && isNotified) dismissAbout("drafts");
  if (refusal !== undefined && !isNotified)
    notify(
      "problem",
      `Your edits are kept in this window only and will be lost when you close it. ${refusal}`,
      "drafts",
    );
  isNotified = refusal !== undefined;
}

type Sent = ReturnType<typeof messagesWith>[number];

function sentBy({ drafts, removed }: Sent): typeof underway {
  return new Map([
    ...removed.map(name => [keyOf(name), undefined] as const),
    ...drafts.map(draft => [keyOf(draft), draft] as const),
  ]);
}

/** Another window may have changed them since: then the daemon leaves them as they are, and this window merges both. */
function withKnown({ drafts, removed }: Sent) {
  const known = (name: Draft | DraftName) => ({ known: kept.get(keyOf(name))?.revision ?? loadedRevision });
  return {
    drafts: drafts.map(draft => ({ ...draft, ...known(draft) })),
    removed: removed.map(name => ({ ...name, ...known(name) })),
  };
}

/** Records what was sent as stored, unless another window changed it before or after. */
function noteKept(sent: typeof underway, { revision, inMemory, behind }: OperationResults["draft/set"]): void {
  const [masked, passed] = [new Set(inMemory.map(keyOf)), new Set(behind.map(keyOf))];
  for (const [key, draft] of sent)
    if (!passed.has(key) && (kept.get(key)?.revision ?? 0) <= revision)
      kept.set(key, { draft, revision, inMemory: masked.has(key) });
}

/** Splits the items into parts that fit into one message each. */
function inParts<Item extends Draft | DraftName>(items: readonly Item[]): readonly (readonly Item[])[] {
  const parts: Item[][] = [];
  let room = 0;
  for (const item of items) {
    const bytes = bytesOf(item);
    if (bytes > room) {
      parts.push([]);
      room = partBytes;
    }
    room -= bytes;
    parts.at(-1)?.push(item);
  }
  return parts;
}

/** The difference between the edits here and the daemon's drafts. */
function unkept(): { readonly drafts: Draft[]; readonly removed: DraftName[] } {
  const here = draftsOf(screenStore.getState());
  return {
    drafts: [...here].flatMap(([key, draft]) => (sameJson(kept.get(key)?.draft, draft) ? [] : [draft])),
    removed: [...kept].flatMap(([key, { draft }]) => (draft === undefined || here.has(key) ? [] : [nameOf(draft)])),
  };
}

/**
 * Applies drafts of other windows. Where this window has edited the same since `before`, both edits become one, or its own stays and
 * the person is told. What was dropped on one side and edited on the other stays.
 */
function applyDraft(drafts: readonly Draft[], removed: readonly DraftName[], before: typeof underway): void {
  const { scopes } = screenStore.getState();
  const here = draftsOf(screenStore.getState());
  const isUntouched = (name: Draft | DraftName) => sameJson(here.get(keyOf(name)), before.get(keyOf(name)));
  const others = drafts.flatMap(theirs => {
    const [was, mine] = [before.get(keyOf(theirs)), here.get(keyOf(theirs))];
    if (sameJson(mine, theirs) || (!isUntouched(theirs) && sameJson(was, theirs))) return [];
    if (isUntouched(theirs) || mine === undefined) return [theirs];
    const merged = mergeDrafts(was, theirs, mine, scopes);
    if (merged === undefined) tellOverlap(theirs);
    return merged ?? [];
  });
  const dropped = removed.filter(isUntouched);
  if (others.length === 0 && dropped.length === 0) return;
  takeOver(others, dropped);
}

function takeOver(others: readonly Draft[], dropped: readonly DraftName[]): void {
  screenStore.setState(state => {
    let pending: ScreenState["pending"] = withFields(state.pending, others, dropped);
    for (const [repo, { stored }] of state.opened) pending = withConflicts(pending, repo, stored);
    return { pending, drafts: withTexts(state.drafts, others, dropped) };
  });
}

/** Two windows edited the same part of a field, or the same text. */
function tellOverlap(theirs: Draft): void {
  const { field = "The text of the file" } = nameOf(theirs);
  const name = nameOfRepository(screenStore.getState(), theirs.repo);
  notify(
    "problem",
    `${field} of ${name} was edited in another window at the same time. The edit of this window is kept.`,
    `drafts ${keyOf(theirs)}`,
    {
      action: { text: "Take the other", run: () => takeOver([theirs], []) },
      holds: () => draftsOf(screenStore.getState()).has(keyOf(theirs)),
    },
  );
}

function draftsIn(all: ReadonlyMap<string, Kept>): typeof underway {
  return new Map(Array.from(all, ([key, { draft }]) => [key, draft]));
}

function keptOf(draft: KeptDraft, revision: number): Kept {
  return { draft: plainDraft(draft), revision, inMemory: draft.inMemory === true };
}

function plainDraft({ inMemory: _, ...draft }: KeptDraft): Draft {
  return draft;
}
