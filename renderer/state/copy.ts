import { notify } from "./notices.ts";

/** Copies a text. `done`: what is said then; `what`: the name of the text, for browsers that do not let the page copy. */
export async function copyText(text: string, done: string, what: string): Promise<void> {
  await navigator.clipboard.writeText(text).then(
    () => notify("done", done),
    () => notify("problem", `The browser does not allow copying. ${what}:\n${text}`),
  );
}
