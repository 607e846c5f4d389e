import { invisibleIn, withoutInvisible } from "../parts/invisible.ts";

interface UnseenNoteProps {
  readonly id?: string;
  readonly text: string;
  /** What has the text. */
  readonly label: string;
  onChange(text: string): void;
}

/** Names the characters of a text that nobody sees, if it has any, and removes them. */
export function UnseenNote({ id, text, label, onChange }: UnseenNoteProps) {
  const unseen = invisibleIn(text);
  if (unseen.length === 0) return undefined;
  return (
    <p className="hint" id={id} role="status">
      Has characters that nobody sees: {unseen.join(", ")}.{" "}
      <button type="button" className="link" onClick={() => onChange(withoutInvisible(text))}>
        Remove them<span className="visually-hidden"> from {label}</span>
      </button>
    </p>
  );
}
