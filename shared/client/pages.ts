import type { Reply } from "../protocol.ts";
import { RequestError } from "./request-error.ts";

type AskForPage<Entry> = (page: { after?: string }) => Promise<Reply<readonly Entry[]>>;

/** The entries of a long list, loaded page by page as they are read. Throws RequestError. */
export async function* entriesOf<Entry>(ask: AskForPage<Entry>): AsyncGenerator<Entry, void> {
  for await (const page of pagesOf(ask)) yield* page;
}

/** The pages of a long list. Throws RequestError. */
export async function* pagesOf<Entry>(ask: AskForPage<Entry>): AsyncGenerator<readonly Entry[], void> {
  let after: string | undefined;
  do {
    const { result, errors, next } = await ask(after === undefined ? {} : { after });
    yield result ?? [];
    const [first] = errors;
    if (first !== undefined) throw new RequestError(first, { result, errors });
    after = next;
  } while (after !== undefined);
}
