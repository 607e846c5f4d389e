import { Choose } from "../parts/choose.tsx";
import { allFields, type FieldFilter, screenStore, useScreen } from "../state/store.ts";
import { chosenScope, isFiltering, type ShownFields } from "./field-filter.ts";

const chips = [
  ["isModified", "Modified"],
  ["hasProblem", "With problems"],
] as const;

interface FieldsToolsProps extends Pick<ShownFields, "found" | "all"> {
  /** How many fields have a stored value. */
  readonly modified: number;
  onResetAll(): void;
}

/** What the fields are narrowed down to, in every repository, and what can be done with all of them. It stays in sight. */
export function FieldsTools({ found, all, modified, onResetAll }: FieldsToolsProps) {
  const filter = useScreen(state => state.fieldFilter);
  const scopes = useScreen(state => state.scopes);
  const isFiltered = isFiltering(filter, scopes);
  return (
    <div className="fields-tools">
      <input
        className="input"
        id="field-filter"
        type="search"
        aria-label="Filter fields"
        placeholder="Filter fields"
        spellCheck={false}
        value={filter.text}
        onChange={event => change({ text: event.target.value })}
      />
      {chips.map(([name, title]) => (
        <button
          key={name}
          type="button"
          className="chip"
          aria-pressed={filter[name]}
          onClick={() => change({ [name]: !filter[name] })}
        >
          {title}
        </button>
      ))}
      {scopes.length > 1 && (
        <Choose
          label="Scope"
          options={[
            { id: "", text: "All scopes" },
            ...scopes.map(({ scope, schema }) => ({ id: scope, text: schema.title ?? scope })),
          ]}
          chosen={chosenScope(filter, scopes) ?? ""}
          onChoose={scope => change({ scope: scope === "" ? undefined : scope })}
        />
      )}
      <p className="hint" role="status">
        {isFiltered && `${found} of ${all} fields`}
      </p>
      {isFiltered && (
        <button type="button" className="link" onClick={() => change(allFields)}>
          Show all fields
        </button>
      )}
      {modified > 0 && (
        <button type="button" className="link fields-reset" onClick={onResetAll}>
          Reset all {modified} modified {modified === 1 ? "field" : "fields"}
        </button>
      )}
    </div>
  );
}

function change(part: Partial<FieldFilter>): void {
  screenStore.setState(({ fieldFilter }) => ({ fieldFilter: { ...fieldFilter, ...part } }));
}
