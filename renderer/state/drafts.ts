import type { RepoconfClient } from "../../shared/client/client.ts";
import { RepoconfError } from "../../shared/errors.ts";
import { sameJson } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import type { Draft, DraftName, DraftsChanged, KeptDraft } from "../../shared/protocol.ts";
import { shell } from "../shell.ts";
import { bytesOf, draftsOf, keyOf, nameOf, withFields, withTexts } from "./draft-forms.ts";
import { withConflicts } from "./edits.ts";
import { notify, settled } from "./notices.ts";
import { findRepository, type ScreenState, screenStore } from "./store.ts";

/*
 * The daemon stores unsaved edits: of fields and of files' texts, each by itself, so that windows do not overwrite each other's. This
 * follows the store, sends what the daemon lacks, and applies what other windows sent.
 */

/** Milliseconds in which edits are sent together. */
const sendDelay = 150;
/** Bytes of drafts, or of their names, in one message. */
const partBytes = limits.messageBytes - 1_000;

/** What the daemon has of a draft, as far as is known; undefined: nothing any more. */
interface Kept {
  readonly draft: Draft | undefined;
  /** At which it had it. */
  readonly revision: number;
  /** It is gone when the daemon ends. */
  readonly inMemory: boolean;
}

let client: RepoconfClient | undefined;
/** By `keyOf`. */
let kept = new Map<string, Kept>();
let loadedRevision = 0;
/** What is sent and not answered, by `keyOf`; undefined: removed. */
let underway: ReadonlyMap<string, Draft | undefined> = new Map();
let timer: ReturnType<typeof setTimeout> | undefined;
/** The person knows that the daemon does not keep everything. */
let isNotified = false;
let turn: Promise<void> = Promise.resolve();

/** Sends edits to the daemon from now on; the browser asks before it leaves a page with some that are not there yet. */
export function keepDrafts(): void {
  screenStore.subscribe((state, before) => {
    if (state.pending !== before.pending || state.drafts !== before.drafts) timer ??= setTimeout(sendNow, sendDelay);
  });
  shell?.onLeave(sendDrafts);
  document.addEventListener("visibilitychange", sendNow);
  window.addEventListener("pagehide", sendNow);
  window.addEventListener("beforeunload", event => {
    // The app's window closes with the app, and so does the app's daemon.
    if (shell !== undefined) loseDrafts();
    if (!hasUnkeptDrafts()) return;
    sendNow();
    event.preventDefault();
  });
}

/** Loads the daemon's drafts. Edits made here meanwhile stay, and are sent. */
export function loadDrafts(own: RepoconfClient): Promise<void> {
  client = own;
  return inTurn(async () => {
    const { result, errors, revision = 0 } = await own.request("draft/list", {});
    if (client !== own || errors.length > 0) return;
    const before = kept;
    kept = new Map(result.map(draft => [keyOf(draft), keptOf(draft, revision)]));
    loadedRevision = revision;
    // What is not there stays here: another window may have dropped it, but the daemon may also have lost it.
    applyDraft(result, [], draftsIn(before));
    sendNow();
  });
}

/** Another window has sent something; or this one has, and then nothing here is changed by it. */
export function takeDrafts({ revision, drafts, removed }: DraftsChanged): void {
  const isNewer = (name: Draft | DraftName) => revision > (kept.get(keyOf(name))?.revision ?? loadedRevision);
  const before = draftsIn(kept);
  const changed = drafts.filter(isNewer);
  const dropped = removed.filter(isNewer);
  for (const draft of changed) kept.set(keyOf(draft), keptOf(draft, revision));
  for (const name of dropped) kept.set(keyOf(name), { draft: undefined, revision, inMemory: false });
  // Which of two came last is known with the answer.
  const isSettled = (name: Draft | DraftName) => !underway.has(keyOf(name));
  applyDraft(changed.filter(isSettled), dropped.filter(isSettled), before);
}

/** The daemon may have ended, and with it the drafts that were only in its memory. */
export function loseDrafts(): void {
  kept = new Map([...kept].filter(([, { inMemory }]) => !inMemory));
}

/** Leaves what is edited to the daemon: this window has nothing of it any more. */
export function forgetDrafts(): void {
  client = undefined;
  kept = new Map();
  screenStore.setState({ pending: new Map(), drafts: new Map() });
}

export function hasUnkeptDrafts(): boolean {
  const { drafts, removed } = unkept();
  return drafts.length > 0 || removed.length > 0;
}

/** Sends what the daemon does not have, if anything. */
export function sendDrafts(): Promise<void> {
  clearTimeout(timer);
  timer = undefined;
  return inTurn(send);
}

/** One after the other, so that a reply is of what was sent last. */
function inTurn(step: () => Promise<void>): Promise<void> {
  const run = turn.then(step).catch(error => {
    // What is not kept is sent when there is a connection again.
    if (!(error instanceof RepoconfError)) throw error;
  });
  turn = run.catch(() => {});
  return run;
}

function sendNow(): void {
  void sendDrafts();
}

async function send(): Promise<void> {
  const own = client;
  const { drafts, removed } = unkept();
  if (own === undefined || (drafts.length === 0 && removed.length === 0)) return;
  const state = screenStore.getState();
  const fitting = drafts.filter(draft => bytesOf(draft) <= partBytes);
  const refusals = fitting.length === drafts.length ? [] : ["A text is too large."];
  // Of a repository that is gone nothing is kept.
  const wanted = fitting.filter(({ repo }) => findRepository(state, repo) !== undefined);
  const messages = [
    // First, as it makes room.
    ...inParts(removed).map(part => ({ drafts: [], removed: part })),
    ...inParts(wanted).map(part => ({ drafts: part, removed: [] })),
  ];
  for (const args of messages) {
    const sent = new Map<string, Draft | undefined>(args.drafts.map(draft => [keyOf(draft), draft]));
    for (const name of args.removed) sent.set(keyOf(name), undefined);
    underway = sent;
    const { result, errors } = await own.request("draft/set", args).finally(() => {
      underway = new Map();
    });
    if (client !== own) return;
    const [first] = errors;
    // It goes on as where the connection is lost.
    if (first?.code === 1100 || first?.code === 1113) return;
    if (first === undefined) noteKept(sent, result.revision, result.inMemory);
    else refusals.push(first.message);
  }
  const [refusal] = refusals;
  if (refusal === undefined && isNotified) settled("drafts");
  if (refusal !== undefined && !isNotified)
    notify(
      "problem",
      `Your edits are kept in this window only and will be lost when you close it. ${refusal}`,
      "drafts",
    );
  isNotified = refusal !== undefined;
}

/** What was sent is kept, but where another window's change came after it. */
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

/** For a message each. */
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

/** How what is edited here differs from what the daemon has. */
function unkept(): { readonly drafts: Draft[]; readonly removed: DraftName[] } {
  const here = draftsOf(screenStore.getState());
  return {
    drafts: [...here].flatMap(([key, draft]) => (sameJson(kept.get(key)?.draft, draft) ? [] : [draft])),
    removed: [...kept].flatMap(([key, { draft }]) => (draft === undefined || here.has(key) ? [] : [nameOf(draft)])),
  };
}

/** Puts drafts in the place of those here that are as they were before, and so no newer edits of this window. */
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
