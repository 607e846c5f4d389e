import { useEffect, useRef, useState } from "react";
import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import { masksAnything } from "../../shared/scopes/masks.ts";
import { copyText } from "../state/copy.ts";
import type { EditorProps } from "./editor.tsx";
import { isEnvText, PasteVariables } from "./paste-variables.tsx";
import { TableEditor } from "./table-editor.tsx";

/** Variables, each a name and a text: an env file can be pasted, Enter adds one, and each is shown and copied by itself. */
export function VariablesEditor(props: EditorProps) {
  const { value, schema, label, revealed, onChange } = props;
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [];
  const container = useRef<HTMLDivElement>(null);
  /** The names of those that are shown by themselves: not their places, where others stand after a change from elsewhere. */
  const [shown, setShown] = useState<ReadonlySet<string>>(new Set());
  /** The text of an env file that was pasted, or is about to be. */
  const [pasted, setPasted] = useState<string>();
  const isHidden = masksAnything(schema) && !revealed;
  useEffect(() => {
    const onPaste = (event: ClipboardEvent) => {
      const { target } = event;
      const own = container.current?.closest(".field") ?? container.current;
      if (!(target instanceof Element) || own?.contains(target) !== true) return;
      // The text of a variable may have such lines itself.
      const isText = target.matches("input, textarea") && !target.matches('td[data-member="name"] *');
      const text = event.clipboardData?.getData("text/plain") ?? "";
      if (isText || !isEnvText(text)) return;
      event.preventDefault();
      setPasted(text);
    };
    document.addEventListener("paste", onPaste);
    return () => document.removeEventListener("paste", onPaste);
  }, []);
  const toggle = (name: string) => {
    const next = new Set(shown);
    if (!next.delete(name)) next.add(name);
    setShown(next);
  };
  return (
    <div className="variables" ref={container}>
      <TableEditor
        {...props}
        addsOnEnter
        isShown={index => shown.has(variableIn(items[index]).name)}
        tools={index => {
          const { name, text } = variableIn(items[index]);
          const what = <span className="visually-hidden"> the value of {name || `entry ${index + 1}`}</span>;
          return (
            <>
              {isHidden && (
                <button
                  type="button"
                  className="button button-quiet"
                  aria-pressed={shown.has(name)}
                  onClick={() => toggle(name)}
                >
                  {shown.has(name) ? "Hide" : "Show"}
                  {what}
                </button>
              )}
              <button
                type="button"
                className="button button-quiet"
                onClick={() => void copyText(text, `Copied the value of ${name || `entry ${index + 1}`}.`)}
              >
                Copy{what}
              </button>
            </>
          );
        }}
      />
      {pasted === undefined ? (
        <button type="button" className="button" onClick={() => setPasted("")}>
          Paste a .env<span className="visually-hidden"> into {label}</span>…
        </button>
      ) : (
        <PasteVariables
          text={pasted}
          label={label}
          items={items}
          isCovered={isHidden}
          onText={setPasted}
          onDone={next => {
            if (next !== undefined) onChange(next);
            setPasted(undefined);
          }}
        />
      )}
    </div>
  );
}

function variableIn(item: JsonValue | undefined): { readonly name: string; readonly text: string } {
  const { name, value } = isJsonObject(item) ? item : {};
  return { name: typeof name === "string" ? name : "", text: typeof value === "string" ? value : "" };
}
