import { useId } from "react";
import type { FoundVariable } from "../../shared/import/found-variables.ts";
import { readDotenv } from "../../shared/import/read-dotenv.ts";
import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import { Button } from "../parts/button.tsx";
import { Failure } from "./problems.tsx";

interface PasteVariablesProps {
  readonly text: string;
  readonly label: string;
  readonly items: readonly JsonValue[];
  /** Whether dots cover the text. */
  readonly isCovered: boolean;
  onText(text: string): void;
  /** Called with all entries, or with undefined if the person gives up. */
  onDone(items?: readonly JsonValue[]): void;
}

/** Whether a pasted text is an env file, and so no name: also one with a mistake, which the preview tells of. */
export function isEnvText(text: string): boolean {
  const { variables, problems } = readDotenv(text);
  return (problems.length === 0 && variables.length > 0) || settingLine.test(text);
}

const settingLine = /^[^\S\r\n]*(?:export[^\S\r\n]+)?[A-Za-z_][\w.-]*=/m;

/** The text of an env file, and what it would change: nothing changes before the person says so. */
export function PasteVariables({ text, label, items, isCovered, onText, onDone }: PasteVariablesProps) {
  const id = useId();
  const { problems, notes, ...found } = readDotenv(text);
  const variables = problems.length === 0 ? found.variables : [];
  const before = new Map(items.filter(isJsonObject).map(({ name, value }) => [name, value]));
  const added = variables.filter(({ name }) => !before.has(name));
  const changed = variables.filter(one => before.has(one.name) && before.get(one.name) !== one.text);
  const same = variables.length - added.length - changed.length;
  const count = added.length + changed.length;
  return (
    <section className="paste" aria-label={`Paste into ${label}`}>
      <label className="labelled">
        Text of the .env <span className="hint">NAME=value in each line</span>
        <textarea
          className={`input input-path${isCovered ? " input-covered" : ""}`}
          rows={Math.min(8, Math.max(2, text.split("\n").length))}
          autoComplete="off"
          spellCheck={false}
          aria-describedby={`${id}-preview`}
          // biome-ignore lint/a11y/noAutofocus: the person has just asked for it.
          autoFocus={text === ""}
          value={text}
          onChange={event => onText(event.target.value)}
        />
      </label>
      <Failure text={problems.length === 0 ? undefined : problems.join(" ")} />
      <div id={`${id}-preview`} role="status">
        <Names title="New" variables={added} />
        <Names title="Changed" variables={changed} />
        {same > 0 && <p className="hint">{same === 1 ? "1 is as before." : `${same} are as before.`}</p>}
        {notes.map(note => (
          <p className="hint" key={note}>
            {note}
          </p>
        ))}
      </div>
      <p className="dialog-tools">
        <button type="button" className="button button-quiet" onClick={() => onDone()}>
          Cancel
        </button>
        <Button
          className="button button-main"
          unavailable={problems.length > 0 || count === 0}
          autoFocus={text !== ""}
          onClick={() => onDone(merged(items, variables))}
        >
          {doneText(added.length, changed.length)}
        </Button>
      </p>
    </section>
  );
}

function doneText(added: number, changed: number): string {
  const count = (number: number) => (number === 1 ? "1 variable" : `${number} variables`);
  if (changed === 0) return added === 0 ? "Add" : `Add ${count(added)}`;
  return added === 0 ? `Change ${count(changed)}` : `Add ${added} and change ${count(changed)}`;
}

function Names({ title, variables }: { readonly title: string; readonly variables: readonly FoundVariable[] }) {
  if (variables.length === 0) return undefined;
  return (
    <p>
      {title}: <code>{variables.map(({ name }) => name).join(", ")}</code>
    </p>
  );
}

/** Those of the same name get the new text in their place; an entry without name and text was about to be filled in. */
function merged(items: readonly JsonValue[], variables: readonly FoundVariable[]): readonly JsonValue[] {
  const texts = new Map(variables.map(({ name, text }) => [name, text]));
  const kept = items.flatMap((item): JsonValue[] => {
    if (!isJsonObject(item)) return [item];
    const { name, value } = item;
    if (name === "" && value === "") return [];
    const text = typeof name === "string" ? texts.get(name) : undefined;
    return text === undefined ? [item] : [{ ...item, value: text }];
  });
  const before = new Set(items.filter(isJsonObject).map(({ name }) => name));
  const added = [...texts].filter(([name]) => !before.has(name)).map(([name, value]) => ({ name, value }));
  return [...kept, ...added];
}
