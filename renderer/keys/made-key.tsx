import { useEffect, useRef, useState } from "react";
import type { OperationResults } from "../../shared/protocol.ts";
import { addressOf } from "../state/place.ts";

interface MadeKeyProps {
  readonly made: OperationResults["key/create"];
}

/** Shows a key's text for the only time: it is stored only in this page's memory. */
export function MadeKey({ made: { name, key } }: MadeKeyProps) {
  const [said, setSaid] = useState("");
  const copyButton = useRef<HTMLButtonElement>(null);
  useEffect(() => copyButton.current?.focus(), []);
  const copy = () =>
    navigator.clipboard.writeText(key).then(
      () => setSaid("Copied."),
      () => setSaid("The browser does not allow copying: select the key and copy it yourself."),
    );
  return (
    <article className="page keys-page" aria-labelledby="page-title">
      <h1 id="page-title">Created the key {name}</h1>
      <p className="keys-lead">
        <strong>Copy it now: it is shown only once.</strong> Repoconf keeps no copy. If you lose it, revoke the key and
        create another.
      </p>
      <p className="key-text">
        <code>{key}</code>
        <button ref={copyButton} type="button" className="button button-main" onClick={() => void copy()}>
          Copy
        </button>
      </p>
      <p role="status">{said}</p>
      <section aria-labelledby="key-use">
        <h2 id="key-use">How to give it to a tool</h2>
        <p>Tools read it from the environment variable REPOCONF_API_KEY:</p>
        <pre>
          <code>REPOCONF_API_KEY=…</code>
        </pre>
        <p>Commands can also read it from a file that only you can read:</p>
        <pre>
          <code>repoconf list REPOSITORY --key-file FILE</code>
        </pre>
        <p>Do not commit it, and do not type it into a command: shells keep a history.</p>
      </section>
      <p className="key-form-tools">
        <a className="link" href={addressOf({ page: "keys" })}>
          All keys
        </a>
      </p>
    </article>
  );
}
