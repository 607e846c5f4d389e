import { EditsDiff } from "./edits/edits-diff.tsx";
import { Notices } from "./frame/notices.tsx";
import { CopyButton, CopyEdits } from "./parts/copy-edits.tsx";
import { nameOfRepository, useScreen } from "./state/store.ts";

/** Shown without a session: how to get one, and the edits that are still unsaved. */
export function NoSession({ reason }: { readonly reason?: string | undefined }) {
  const edited = useScreen(state => state.pending.size > 0);
  const drafts = useScreen(state => state.drafts);
  const repositories = useScreen(state => state.repositories);
  return (
    <main className="no-session">
      <h1>Repoconf</h1>
      {reason !== undefined && <p role="alert">{reason}</p>}
      <p>To open the screen, run this in a terminal:</p>
      <pre>
        <code>repoconf ui</code>
      </pre>
      <p>It opens this page with a new session. A link works only once, so a copied link does not work again.</p>
      {edited && (
        <section aria-label="Edits">
          <p>Unsaved edits:</p>
          <EditsDiff />
          <CopyEdits />
        </section>
      )}
      {[...drafts].map(([repo, { text }]) => (
        <section key={repo} aria-label="Edited text">
          <p>
            The file of {nameOfRepository({ repositories }, repo)} was edited as text and is not saved. Masked values
            stand in it as they are.
          </p>
          <CopyButton label="Copy the text" text={() => text} done="Copied the text." what="The text" />
        </section>
      ))}
      <Notices />
    </main>
  );
}
