import { useContext, useId } from "react";
import { type JsonValue, sameJson } from "../../shared/json.ts";
import type { ScopeSchema, ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { showJson } from "../parts/show-json.ts";
import { type ChoiceOption, choicesOf } from "./alternatives.ts";
import { type EditorProps, itemSchema } from "./editor.tsx";
import { Problems } from "./problems.tsx";
import { resolvedIn, SchemaRoot } from "./resolved-schema.ts";

/** With more values than this, a list is easier. */
const manyValues = 20;

/** The values of which a list has some, each at most once; undefined: it is not such a list. `schema` is resolved. */
export function checksOf(schema: ValueSchema, root: ScopeSchema | undefined): readonly ChoiceOption[] | undefined {
  const items = itemSchema(schema);
  if (schema["uniqueItems"] !== true || items === undefined) return undefined;
  const choices = choicesOf(resolvedIn(root, items), root);
  return choices !== undefined && choices.length <= manyValues ? choices : undefined;
}

/** A check box for each value that a list may have. */
export function CheckList({ value, schema, label, describedBy, problems, onChange }: EditorProps) {
  const id = useId();
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [];
  const options = checksOf(schema, useContext(SchemaRoot)) ?? [];
  // Values that no longer exist stay until they are taken out.
  const lost = items.filter(item => !options.some(option => sameJson(option.value, item)));
  return (
    <div className="check-list">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would have a legend in sight, which the field's title is already. */}
      <div
        role="group"
        aria-label={label}
        aria-describedby={[describedBy, problems.length > 0 && id].filter(Boolean).join(" ") || undefined}
      >
        {[...options, ...lost.map(one => ({ value: one, title: `${showJson(one, {})} (does not exist)` }))].map(
          option => {
            const isThere = items.some(item => sameJson(item, option.value));
            const others = items.filter(item => !sameJson(item, option.value));
            return (
              <label className="check" key={JSON.stringify(option.value)}>
                <input
                  type="checkbox"
                  checked={isThere}
                  onChange={() => onChange(isThere ? others : [...others, option.value])}
                />
                <span>{option.title ?? showJson(option.value, {})}</span>
              </label>
            );
          },
        )}
      </div>
      <Problems id={id} problems={problems} />
    </div>
  );
}
