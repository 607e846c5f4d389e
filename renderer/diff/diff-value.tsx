import { useState } from "react";
import type { JsonValue } from "../../shared/json.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { shortened } from "../../shared/shortened.ts";
import { partsToSee } from "../fields/invisible.ts";
import { mask, showJson } from "../page/show-json.ts";
import { type DiffLine, isUnchanged } from "./diff-lines.ts";

/** The maximum of shown characters of a value. */
const maxCharacters = 2_000;

/** The names of two compared sides that are not versions of one thing. */
export interface SideNames {
  readonly before: string;
  readonly after: string;
}

interface DiffValueProps {
  readonly line: DiffLine;
  readonly side: keyof SideNames;
  readonly sides: SideNames | undefined;
}

/** One side of a line: the value in readable form, or a text if there is none. */
export function DiffValue({ line, side, sides }: DiffValueProps) {
  const one = line[side];
  const [same, other] = sides === undefined ? ["not changed", "changed"] : ["the same", "different"];
  const isMasked = line.schema["x-masked"] === true;
  return (
    <>
      {"words" in one ? (
        <span className="hint">
          {sides !== undefined && one.words === "removed" ? "not set" : one.words}
          {one.isDefault && ","}
        </span>
      ) : isMasked && !isEmpty(one.value) ? (
        <MaskedValue
          value={one.value}
          schema={line.schema}
          name={`${line.path} ${sides === undefined ? side : `in ${sides[side]}`}`}
        />
      ) : (
        <ShownText text={textOf(one.value, line.schema)} />
      )}
      {"place" in one && <span className="hint"> at [{one.place}]</span>}
      {one.isDefault && <span className="hint"> default</span>}
      {isMasked && side === "after" && "value" in one && "value" in line.before && (
        <span className="hint">{` ${isUnchanged(line) ? same : other}`}</span>
      )}
      {one.note !== undefined && (
        <>
          {" "}
          <span className="badge badge-edited">{one.note}</span>
        </>
      )}
    </>
  );
}

/** A masked value: hidden until the person reveals it. */
function MaskedValue({
  value,
  schema,
  name,
}: {
  readonly value: JsonValue;
  readonly schema: ValueSchema;
  readonly name: string;
}) {
  const [shown, setShown] = useState(false);
  return (
    <>
      <ShownText text={shown ? textOf(value, { ...schema, "x-masked": false }) : mask} />{" "}
      <button type="button" className="link" onClick={() => setShown(!shown)}>
        {shown ? "Hide" : "Show"}
        <span className="visually-hidden"> {name}</span>
      </button>
    </>
  );
}

/** With the characters that nobody would see: they are what has changed, perhaps. */
function ShownText({ text }: { readonly text: string }) {
  return (
    <code>
      {partsToSee(text).map((part, index) =>
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
  );
}

function textOf(value: JsonValue, schema: ValueSchema): string {
  return shortened(showJson(value, schema), maxCharacters);
}

/** An empty list or object has nothing to mask. */
function isEmpty(value: JsonValue): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
