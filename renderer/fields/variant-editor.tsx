import { useContext, useState } from "react";
import { Choice } from "./choice.tsx";
import { type EditorProps, NestedEditor, ownProblems } from "./editor.tsx";
import { emptyInstead } from "./empty-value.ts";
import { Problems } from "./problems.tsx";
import { SchemaRoot } from "./resolved-schema.ts";
import { inForm, variantOf, variantsOf } from "./variants.ts";

/** A value that has one of several forms: a choice of the form, and the control of that. What two forms share stays at a change. */
export function VariantEditor(props: EditorProps) {
  const { value, schema, label, describedBy, problems, nothing, onChange } = props;
  const root = useContext(SchemaRoot);
  const [picked, setPicked] = useState<number>();
  const variants = variantsOf(schema, root);
  const current = variantOf(value, variants, root, picked);
  return (
    <div className="variant">
      <Choice
        value={current === undefined ? null : variants.indexOf(current)}
        schema={{ oneOf: variants.map(({ title }, index) => ({ const: index, title })) }}
        label={`${label}: form`}
        describedBy={describedBy}
        problems={[]}
        revealed
        nothing={value === null ? nothing : "none of these"}
        onChange={index => {
          const wanted = variants[Number(index)];
          if (wanted === undefined || wanted === current) return;
          setPicked(Number(index));
          onChange(inForm(value, wanted, emptyInstead(wanted.schema, root)));
        }}
      />
      {current === undefined ? (
        <Problems problems={ownProblems(problems)} />
      ) : (
        <NestedEditor {...props} schema={current.schema} />
      )}
    </div>
  );
}
