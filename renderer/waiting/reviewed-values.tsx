import { exactText, type JsonValue } from "../../shared/json.ts";

interface ReviewedValuesProps {
  readonly active: JsonValue;
  /** Where the other value is, and its exact text. */
  readonly title: string;
  readonly text: string;
}

/** The value that a person decides about, beside the active one. */
export function ReviewedValues({ active, title, text }: ReviewedValuesProps) {
  return (
    <div className="waiting-values">
      <figure>
        <figcaption>Active</figcaption>
        <pre>{exactText(active)}</pre>
      </figure>
      <figure>
        <figcaption>{title}</figcaption>
        <pre>{text}</pre>
      </figure>
    </div>
  );
}
