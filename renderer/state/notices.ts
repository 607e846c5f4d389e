import { type Notice, screenStore } from "./store.ts";

/** Milliseconds that good news stays. */
const noticeTime = 6_000;
let lastId = 0;

/**
 * Shows a notice. Problems stay until they are dismissed, or until there is a newer notice `about` the same thing: a save, a file, a
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

/** All is well about this: what was said of it is over. */
export function settled(about: string): void {
  screenStore.setState(state => ({ notices: state.notices.filter(one => one.about !== about) }));
}

export function dismiss(id: number): void {
  screenStore.setState(state => ({ notices: state.notices.filter(one => one.id !== id) }));
}

/** What went wrong, in words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
