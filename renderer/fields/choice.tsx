import { useContext, useId } from "react";
import { canonicalJson, type JsonValue } from "../../shared/json.ts";
import type { ScopeSchema } from "../../shared/scopes/scope-schema.ts";
import { numberLabels } from "../../shared/scopes/value-text.ts";
import { Choose, type ChooseOption } from "../parts/choose.tsx";
import { showJson } from "../parts/show-json.ts";
import { choicesOf } from "./alternatives.ts";
import { type EditorProps, ownProblems } from "./editor.tsx";
import { Problems } from "./problems.tsx";
import { SchemaRoot } from "./resolved-schema.ts";

interface Option extends ChooseOption {
  readonly value: JsonValue;
}

/** A choice of values: of an enumeration, of named numbers, or of the keys of another field. */
export function Choice(props: EditorProps) {
  const { value, schema, label, describedBy, problems, keys, nothing = "not set", onChange } = props;
  const problemId = useId();
  const own = ownProblems(problems);
  const options = optionsOf(schema, keys, useContext(SchemaRoot));
  const current = canonicalJson(value);
  const isKnown = options.some(option => option.id === current);
  // A value that no longer exists is shown as itself, not as another option.
  const lost = value === null ? nothing : `${showJson(value, shownSchema(schema))} (does not exist)`;
  const all = isKnown ? options : [...options, { id: current, value, text: lost }];
  return (
    <div className="editor-choice">
      <Choose
        label={label}
        describedBy={[describedBy, own.length > 0 && problemId].filter(Boolean).join(" ")}
        invalid={own.length > 0}
        options={all}
        chosen={current}
        onChoose={id => {
          const option = all.find(one => one.id === id);
          if (option !== undefined) onChange(option.value);
        }}
      />
      <Problems id={problemId} problems={own} />
    </div>
  );
}

function optionsOf(
  schema: EditorProps["schema"],
  keys: readonly string[] | undefined,
  root: ScopeSchema | undefined,
): Option[] {
  const optionOf = (value: JsonValue, text: string) => ({ id: canonicalJson(value), value, text });
  if (keys !== undefined) return [optionOf("", "none"), ...keys.map(key => optionOf(key, key))];
  const labels = numberLabels(schema);
  if (labels !== undefined) return [...labels].map(([number, text]) => optionOf(number, text));
  return (choicesOf(schema, root) ?? []).map(({ value, title }) =>
    optionOf(value, title ?? (value === "" ? "none" : showJson(value, shownSchema(schema)))),
  );
}

/** A choice is only there while its values are shown. */
function shownSchema(schema: EditorProps["schema"]): EditorProps["schema"] {
  return { ...schema, "x-masked": false };
}
