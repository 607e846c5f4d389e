import { type Notice, screenStore } from "./store.ts";

/** How long a success notice is shown, in milliseconds. */
const noticeTime = 6_000;
let lastId = 0;

/**
 * Shows a notice. Problems stay until they are dismissed or until a newer notice is `about` the same subject: a save, a file, a
 * repository.
 */
export function notify(kind: Notice["kind"], text: string, about?: string, action?: Notice["action"]): void {
  lastId += 1;
  const id = lastId;
  const notice: Notice = {
    id,
    kind,
    text,
    ...(about !== undefined && { about }),
    ...(action !== undefined && { action }),
  };
  screenStore.setState(state => ({
    notices: [
      ...state.notices.filter(one => one.text !== text && (about === undefined || one.about !== about)),
      notice,
    ],
  }));
  if (kind === "done" && action === undefined) setTimeout(() => dismiss(id), noticeTime);
}

/** Removes the notices about a subject, because their problem is resolved. */
export function dismissAbout(about: string): void {
  screenStore.setState(state => ({ notices: state.notices.filter(one => one.about !== about) }));
}

export function dismiss(id: number): void {
  screenStore.setState(state => ({ notices: state.notices.filter(one => one.id !== id) }));
}

/** The message of an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
