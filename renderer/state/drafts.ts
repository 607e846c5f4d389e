import type { RepoconfClient } from "../../shared/client/client.ts";
import { RepoconfError } from "../../shared/errors.ts";
import { sameJson } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import type { Draft, DraftName, DraftsChanged, KeptDraft } from "../../shared/protocol.ts";
import { shell } from "../shell.ts";
import { bytesOf, draftsOf, keyOf, nameOf, withFields, withTexts } from "./draft-forms.ts";
import { withConflicts } from "./edits.ts";
import { dismissAbout, notify } from "./notices.ts";
import { findRepository, type ScreenState, screenStore } from "./store.ts";

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
    if (state.pending !== before.pending || state.drafts !== before.drafts) timer ??= setTimeout(sendNow, sendDelay);
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
    applyDraft(result, [], draftsIn(before));
    sendNow();
  });
}

/** Applies drafts that another window has sent. Has no effect if this window sent them. */
export function takeDrafts({ revision, drafts, removed }: DraftsChanged): void {
  const isNewer = (name: Draft | DraftName) => revision > (kept.get(keyOf(name))?.revision ?? loadedRevision);
  const before = draftsIn(kept);
  const changed = drafts.filter(isNewer);
  const dropped = removed.filter(isNewer);
  for (const draft of changed) kept.set(keyOf(draft), keptOf(draft, revision));
  for (const name of dropped) kept.set(keyOf(name), { draft: undefined, revision, inMemory: false });
  // For drafts in flight, the reply decides which one is newer.
  const isSettled = (name: Draft | DraftName) => !underway.has(keyOf(name));
  applyDraft(changed.filter(isSettled), dropped.filter(isSettled), before);
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

/** The page goes away: sends what the daemon lacks at once, instead of after the reply to what was sent before. */
function sendLast(): void {
  const { drafts, removed } = unkept();
  for (const args of messagesWith(drafts, removed)) client?.request("draft/set", args).catch(() => {});
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
  if (own === undefined || (drafts.length === 0 && removed.length === 0)) return;
  const refusals = drafts.every(isFitting) ? [] : ["A text is too large."];
  for (const args of messagesWith(drafts, removed)) {
    const sent = new Map<string, Draft | undefined>(args.drafts.map(draft => [keyOf(draft), draft]));
    for (const name of args.removed) sent.set(keyOf(name), undefined);
    underway = sent;
    const { result, errors } = await own.request("draft/set", args).finally(() => {
      underway = new Map();
    });
    if (client !== own) return;
    const [first] = errors;
    // Handled like a lost connection.
    if (first?.code === 1100 || first?.code === 1113) return;
    if (first === undefined) noteKept(sent, result.revision, result.inMemory);
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

/** Records what was sent as stored, unless another window's change came later. */
function noteKept(sent: typeof underway, revision: number, inMemory: readonly DraftName[]): void {
  const masked = new Set(inMemory.map(keyOf));
  const later: Draft[] = [];
  const removedLater: DraftName[] = [];
  for (const [key, draft] of sent) {
    const now = kept.get(key);
    if (now === undefined || now.revision <= revision) kept.set(key, { draft, revision, inMemory: masked.has(key) });
    else if (now.draft !== undefined) later.push(now.draft);
    else if (draft !== undefined) removedLater.push(nameOf(draft));
  }
  applyDraft(later, removedLater, sent);
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

/** Applies drafts except where this window has newer edits, that is, where its edits differ from `before`. */
function applyDraft(drafts: readonly Draft[], removed: readonly DraftName[], before: typeof underway): void {
  const here = draftsOf(screenStore.getState());
  const isUntouched = (name: Draft | DraftName) => sameJson(here.get(keyOf(name)), before.get(keyOf(name)));
  const others = drafts.filter(draft => isUntouched(draft) && !sameJson(here.get(keyOf(draft)), draft));
  const dropped = removed.filter(isUntouched);
  if (others.length === 0 && dropped.length === 0) return;
  screenStore.setState(state => {
    let pending: ScreenState["pending"] = withFields(state.pending, others, dropped);
    for (const [repo, { stored }] of state.opened) pending = withConflicts(pending, repo, stored, "another");
    return { pending, drafts: withTexts(state.drafts, others, dropped) };
  });
}

function draftsIn(all: ReadonlyMap<string, Kept>): typeof underway {
  return new Map(Array.from(all, ([key, { draft }]) => [key, draft]));
}

function keptOf({ inMemory, ...draft }: KeptDraft, revision: number): Kept {
  return { draft, revision, inMemory: inMemory === true };
}
