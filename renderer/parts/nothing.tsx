import { addressOf } from "../state/place.ts";

/** The page for an address of something that does not exist. */
export function Nothing({ what }: { readonly what: string }) {
  return (
    <article className="page" aria-labelledby="page-title">
      <h1 id="page-title">Nothing here</h1>
      <p>{what}</p>
      <p>
        <a className="link" href={addressOf({ page: "start" })}>
          Go to the start page
        </a>
      </p>
    </article>
  );
}
