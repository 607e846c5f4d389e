import { notify } from "./notices.ts";

/**
 * Copies a text. `done`: what is said then; `what`: the name of the text, with which it is shown where a browser does not let the page
 * copy; if left out, it is not shown.
 */
export async function copyText(text: string, done: string, what?: string): Promise<void> {
  await navigator.clipboard.writeText(text).then(
    () => notify("done", done),
    () => notify("problem", `The browser does not allow copying.${what === undefined ? "" : ` ${what}:\n${text}`}`),
  );
}
