import { useState } from "react";
import type { JsonValue } from "../../shared/json.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { shortened } from "../../shared/shortened.ts";
import { mask, showJson } from "../page/show-json.ts";
import { type DiffLine, isUnchanged } from "./diff-lines.ts";

/** Characters of a value that are shown. */
const mostCharacters = 2_000;

interface DiffValueProps {
  readonly line: DiffLine;
  readonly side: "before" | "after";
}

/** One side of a line: the value as people read it, or words where there is none. */
export function DiffValue({ line, side }: DiffValueProps) {
  const one = line[side];
  const isMasked = line.schema["x-masked"] === true;
  return (
    <>
      {"words" in one ? (
        <span className="hint">
          {one.words}
          {one.isDefault && ","}
        </span>
      ) : isMasked && !isEmpty(one.value) ? (
        <MaskedValue value={one.value} schema={line.schema} name={`${line.path} ${side}`} />
      ) : (
        <code>{textOf(one.value, line.schema)}</code>
      )}
      {"place" in one && <span className="hint"> at [{one.place}]</span>}
      {one.isDefault && <span className="hint"> default</span>}
      {isMasked && side === "after" && "value" in one && "value" in line.before && (
        <span className="hint">{isUnchanged(line) ? " not changed" : " changed"}</span>
      )}
    </>
  );
}

/** A masked value: it shows when asked for, alone, until this is closed. */
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
      <code>{shown ? textOf(value, { ...schema, "x-masked": false }) : mask}</code>{" "}
      <button type="button" className="link" onClick={() => setShown(!shown)}>
        {shown ? "Hide" : "Show"}
        <span className="visually-hidden"> {name}</span>
      </button>
    </>
  );
}

function textOf(value: JsonValue, schema: ValueSchema): string {
  return shortened(showJson(value, schema), mostCharacters);
}

/** Of an empty list or object nothing is masked. */
function isEmpty(value: JsonValue): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
