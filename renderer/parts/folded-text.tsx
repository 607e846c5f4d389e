import { useState } from "react";
import { shortened } from "../../shared/shortened.ts";
import { partsToSee } from "./invisible.ts";

/** Of a longer text than this, only a part is shown. */
const [maxCharacters, maxLines] = [240, 6];
/** How many characters stand before the one that a reader looks for. */
const context = 40;
/** A button that hides less than this saves no space. */
const worthHiding = 80;
/** The maximum of characters in the page. */
const mostAtAll = 100_000;

interface FoldedTextProps {
  readonly text: string;
  /** What it is the text of, for screen readers. */
  readonly name: string;
  /** The index of the first character that matters: what is shown contains it. */
  readonly from?: number;
}

/** A text of any length, with the characters that nobody would see: they are what has changed, perhaps. */
export function FoldedText({ text, name, from = 0 }: FoldedTextProps) {
  const [isWhole, setIsWhole] = useState(false);
  const part = partWith(text, from);
  const isLong = text.length - part.length > worthHiding;
  const shown = isLong && !isWhole ? part : shortened(text, mostAtAll);
  return (
    <>
      <code>
        {partsToSee(shown).map((part, index) =>
          part.code === undefined ? (
            part.text
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other names.
            <span className="unseen" key={index}>
              {part.code}
            </span>
          ),
        )}
      </code>
      {isLong && (
        <>
          {" "}
          <button type="button" className="link" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
            {isWhole ? "Show less" : `Show all ${text.length.toLocaleString("en")} characters`}
            <span className="visually-hidden"> of {name}</span>
          </button>
        </>
      )}
    </>
  );
}

/** The beginning of a text, or what is around a character that is further down. */
function partWith(text: string, from: number): string {
  const cut = (start: number) => {
    const lines = text.slice(start, start + maxCharacters).split("\n", maxLines);
    const part = lines.join("\n");
    return start + part.length < text.length ? `${part}…` : part;
  };
  const beginning = cut(0);
  return from < beginning.length - context ? beginning : `…${cut(from - context)}`;
}
