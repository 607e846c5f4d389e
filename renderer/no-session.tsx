/** A page without a session says how to get one, and nothing else. */
export function NoSession({ reason }: { readonly reason?: string | undefined }) {
  return (
    <main className="no-session">
      <h1>Repoconf</h1>
      {reason !== undefined && <p role="alert">{reason}</p>}
      <p>To open the screen, run this in a terminal:</p>
      <pre>
        <code>repoconf ui</code>
      </pre>
      <p>It opens this page with a session of its own. Links are good once, so a copied one does not work again.</p>
    </main>
  );
}
