import { joinConfigPath } from "../../shared/config-path.ts";
import { type ScopeEntry, useScreen } from "../state/store.ts";
import { type Box, BoxList } from "./box-list.tsx";
import { covers, type Patterns, patternsIn, withoutPattern, withPattern } from "./field-patterns.ts";

interface FieldBoxesProps {
  /** The patterns as typed; the boxes show what they mean. */
  readonly text: string;
  readonly problem: string | undefined;
  onChange(text: string): void;
}

/** The choice of fields for a key: boxes for all, for scopes and for single fields, and a text with the same patterns. */
export function FieldBoxes({ text, problem, onChange }: FieldBoxesProps) {
  const scopes = useScreen(state => state.scopes);
  const patterns = patternsIn(text);
  const toggle = (id: string, checked: boolean) =>
    onChange((checked ? withPattern(patterns, id) : withoutPattern(patterns, id, scopes)).join(", "));
  return (
    <BoxList legend="Fields" ofWhat="fields" boxes={boxesOf(patterns, scopes)} problem={problem} onToggle={toggle}>
      <label className="labelled boxes-patterns">
        As patterns <span className="hint">svc.timeout, svc.proxy_*, svc.* for a scope, * for all</span>
        <input
          className="input input-path"
          spellCheck={false}
          autoComplete="off"
          aria-invalid={problem !== undefined}
          value={text}
          onChange={event => onChange(event.target.value)}
        />
      </label>
    </BoxList>
  );
}

function boxesOf(patterns: Patterns, scopes: readonly ScopeEntry[]): Box[] {
  const boxes: Box[] = [
    {
      id: "*",
      name: "All fields",
      note: <span className="hint">including future ones</span>,
      level: 0,
      checked: patterns.includes("*") || (patterns.length > 0 && "mixed"),
    },
  ];
  for (const { scope, schema } of scopes) {
    const fields: Box[] = Object.entries(schema.properties).map(([field, { title, "x-masked": isMasked }]) => {
      const path = joinConfigPath(scope, field);
      const note = (
        <>
          {title !== undefined && <span className="hint">{title}</span>}
          {isMasked === true && <span className="badge">masked</span>}
        </>
      );
      return { id: path, name: path, note, level: 2, checked: covers(patterns, path) };
    });
    const isWhole = covers(patterns, `${scope}.`);
    boxes.push({
      id: `${scope}.*`,
      name: `All of ${scope}`,
      ...(schema.title !== undefined && { note: <span className="hint">{schema.title}</span> }),
      level: 1,
      checked: isWhole || (fields.some(({ checked }) => checked === true) && "mixed"),
    });
    boxes.push(...fields);
  }
  return boxes;
}
