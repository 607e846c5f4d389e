import { type KeyboardEvent, type Ref, useId, useMemo, useState } from "react";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { JsonValue } from "../../shared/json.ts";
import { masksAnything } from "../../shared/scopes/masks.ts";
import { Failure } from "../fields/problems.tsx";
import { SchemaRoot } from "../fields/resolved-schema.ts";
import { checkValue } from "../fields/validate.ts";
import { ValueEditor } from "../fields/value-editor.tsx";
import { Button } from "../parts/button.tsx";
import { findField, orDefault, useScreen } from "../state/store.ts";
import { describeExcess, type SelectedField, setCells } from "./selected-cells.ts";

interface SetBarProps {
  readonly ref: Ref<HTMLElement>;
  /** The selected cells: their fields and the repositories of each. */
  readonly selected: readonly SelectedField[];
  readonly count: number;
  /** The initial value, from the active cell; undefined: masked, or not known yet. */
  readonly value: JsonValue | undefined;
  /** Called when the person returns to the cells. */
  onDone(): void;
}

/** Sets all selected cells to one value, as edits. */
export function SetBar({ ref, selected, count, value, onDone }: SetBarProps) {
  const scopes = useScreen(state => state.scopes);
  const pending = useScreen(state => state.pending);
  /** The value that the person has chosen, whichever cells of the field are selected. */
  const [chosen, setChosen] = useState<JsonValue>();
  /** The initial value when the person went into this bar: one that arrives later does not change what they are typing over. */
  const [entered, setEntered] = useState<Pick<SetBarProps, "value">>();
  const [revealed, setRevealed] = useState(false);
  const [applying, setApplying] = useState(false);
  const problemId = useId();
  const [first] = selected;
  const one = selected.length === 1 ? first : undefined;
  const schema = one && findField(scopes, one.scope, one.field);
  const initial = entered === undefined ? value : entered.value;
  const shown = orDefault(chosen, orDefault(initial, schema?.default ?? null));
  const scopeSchema = scopes.find(({ scope }) => scope === one?.scope)?.schema;
  const problems = schema === undefined || chosen === undefined ? [] : checkValue(shown, schema, scopeSchema);
  const tooMany = useMemo(() => describeExcess(selected, pending), [selected, pending]);
  // A value that is not known yet cannot be applied by accident.
  const isApplicable =
    tooMany === undefined && problems.length === 0 && (chosen !== undefined || initial !== undefined);

  async function apply(next: JsonValue | undefined): Promise<void> {
    if (applying) return;
    setApplying(true);
    if (await setCells(selected, next)) {
      setChosen(undefined);
      onDone();
    }
    setApplying(false);
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.defaultPrevented) return;
    if (event.key === "Escape") onDone();
    else if (event.key === "Enter" && !event.shiftKey && isOwnInput(event.target)) {
      event.preventDefault();
      if (isApplicable) void apply(shown);
    }
  }

  const cells = `${count.toLocaleString("en")} ${count === 1 ? "cell" : "cells"}`;
  return (
    <section
      ref={ref}
      className="matrix-bar"
      aria-label="Set the selected cells"
      onKeyDown={onKeyDown}
      onFocus={() => setEntered({ value: initial })}
      onBlur={() => setEntered(undefined)}
    >
      <p role="status">
        {count === 0 &&
          "Select cells to set them: click, drag, or Shift and arrows. A header selects its column or row."}
        {one !== undefined && `Set ${cells} of ${joinConfigPath(one.scope, one.field)} to`}
        {selected.length > 1 && `${cells} of ${selected.length} fields: select cells of a single field to set them.`}
      </p>
      {one !== undefined && schema !== undefined && (
        <div className="matrix-value">
          <SchemaRoot value={scopeSchema}>
            <ValueEditor
              value={shown}
              schema={schema}
              label={schema.title ?? one.field}
              problems={problems}
              revealed={revealed}
              onChange={setChosen}
            />
          </SchemaRoot>
          {masksAnything(schema) && (
            <button type="button" className="link" aria-pressed={revealed} onClick={() => setRevealed(!revealed)}>
              {revealed ? "Hide values" : "Show values"}
            </button>
          )}
        </div>
      )}
      {count > 0 && (
        <div className="matrix-tools">
          {one !== undefined && (
            <Button
              className="button button-main"
              unavailable={!isApplicable}
              pending={applying && "Applying…"}
              aria-describedby={problemId}
              onClick={() => void apply(shown)}
            >
              Apply
            </Button>
          )}
          <Button
            className="button"
            unavailable={tooMany !== undefined || applying}
            aria-describedby={problemId}
            onClick={() => void apply(undefined)}
          >
            Reset to default
          </Button>
        </div>
      )}
      <Failure id={problemId} text={tooMany} />
    </section>
  );
}

/** Excludes the name of a new entry, which has a form of its own, and JSON, which has many lines. */
function isOwnInput(target: EventTarget): boolean {
  return target instanceof HTMLElement && target.matches("input, .input-text") && target.closest("form") === null;
}
