import { useState } from "react";
import type { JsonValue } from "../../shared/json.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { FoldedText } from "../parts/folded-text.tsx";
import { mask, showJson } from "../parts/show-json.ts";
import { type DiffLine, isUnchanged } from "./diff-lines.ts";

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
  const name = `${line.path} ${sides === undefined ? side : `in ${sides[side]}`}`;
  return (
    <>
      {"words" in one ? (
        <span className="hint">
          {sides !== undefined && one.words === "removed" ? "not set" : one.words}
          {one.isDefault && ","}
        </span>
      ) : isMasked && !isEmpty(one.value) ? (
        <MaskedValue value={one.value} schema={line.schema} name={name} />
      ) : (
        <FoldedText text={showJson(one.value, line.schema)} name={name} from={firstDifference(line)} />
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
      <FoldedText text={shown ? showJson(value, { ...schema, "x-masked": false }) : mask} name={name} />{" "}
      <button type="button" className="link" onClick={() => setShown(!shown)}>
        {shown ? "Hide" : "Show"}
        <span className="visually-hidden"> {name}</span>
      </button>
    </>
  );
}

/** Where the two values of a line begin to differ. */
function firstDifference({ before, after, schema }: DiffLine): number {
  if (!("value" in before && "value" in after)) return 0;
  const [one, other] = [showJson(before.value, schema), showJson(after.value, schema)];
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at < Math.max(one.length, other.length) ? at : 0;
}

/** An empty list or object has nothing to mask. */
function isEmpty(value: JsonValue): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
