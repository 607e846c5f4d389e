import { RepoconfError } from "../../shared/errors.ts";
import { type Notice, screenStore } from "./store.ts";

/** How long a success notice is shown, in milliseconds; with a button, for which one has to reach it, for longer. */
const [noticeTime, actionTime] = [6_000, 12_000];
let lastId = 0;

/**
 * Shows a notice. Problems stay until they are dismissed, until their cause is gone, or until a newer notice is `about` the same subject: a
 * save, a file, a repository. So do those with the only way back; `holds` says that there is another, or whether the cause is still there.
 */
export function notify(
  kind: Notice["kind"],
  text: string,
  about?: string,
  more: Pick<Notice, "action" | "holds"> = {},
): void {
  lastId += 1;
  const id = lastId;
  const notice: Notice = { id, kind, text, ...(about !== undefined && { about }), ...more };
  screenStore.setState(state => ({
    notices: [
      ...state.notices.filter(one => one.text !== text && (about === undefined || one.about !== about)),
      notice,
    ],
  }));
  if (kind === "problem" || (more.action !== undefined && more.holds === undefined)) return;
  setTimeout(() => dismiss(id), more.action === undefined ? noticeTime : actionTime);
}

/** Removes notices as soon as their cause is gone. */
export function endNotices(): void {
  screenStore.subscribe(({ notices }) => {
    if (notices.some(({ holds }) => holds?.() === false))
      screenStore.setState({ notices: notices.filter(({ holds }) => holds?.() !== false) });
  });
}

/** Removes the notices about a subject, because their problem is resolved. */
export function dismissAbout(about: string): void {
  screenStore.setState(state => ({ notices: state.notices.filter(one => one.about !== about) }));
}

export function dismiss(id: number): void {
  screenStore.setState(state => ({ notices: state.notices.filter(one => one.id !== id) }));
}

/** Whether a request was sent and not answered, so that what it asked for may have been done. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof RepoconfError && error.details?.["isUnknown"] === true;
}

/** The message of an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
