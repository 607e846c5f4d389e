import { type Notice, screenStore } from "./store.ts";

/** Milliseconds that good news stays. */
const noticeTime = 6_000;
let lastId = 0;

/** Tells the person something. Problems stay until they are taken away. */
export function notify(kind: Notice["kind"], text: string): void {
  lastId += 1;
  const id = lastId;
  screenStore.setState(state => ({ notices: [...state.notices.filter(one => one.text !== text), { id, kind, text }] }));
  if (kind === "done") setTimeout(() => dismiss(id), noticeTime);
}

export function dismiss(id: number): void {
  screenStore.setState(state => ({ notices: state.notices.filter(one => one.id !== id) }));
}
