import { ChevronDown, ChevronRight } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import { maskParts } from "../../shared/scopes/masks.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { shortened } from "../../shared/shortened.ts";
import { Button } from "../parts/button.tsx";
import { nameToSee } from "../parts/invisible.ts";
import { mask, withTextsShown } from "../parts/show-json.ts";

/** The maximum of characters of what tells a folded entry from others. */
const maxCharacters = 60;

interface ListItemProps {
  readonly label: string;
  readonly index: number;
  /** Its key. */
  readonly entry: number;
  readonly count: number;
  readonly children: ReactNode;
  onMove(step: 1 | -1): void;
  onRemove(): void;
}

/** One entry of a list in one line. */
export function ListItem({ entry, children, ...props }: ListItemProps) {
  return (
    <li className="list-item" data-entry={entry}>
      {children}
      <EntryTools {...props} />
    </li>
  );
}

interface CardItemProps extends ListItemProps {
  readonly value: JsonValue;
  /** Says what of the value is masked. */
  readonly schema: ValueSchema;
  readonly hasProblems: boolean;
  readonly startsOpen: boolean;
}

/** One entry of a list as a card with its number, which can be folded. One with problems opens, and stays open without them. */
export function CardItem({ value, schema, entry, hasProblems, startsOpen, children, ...props }: CardItemProps) {
  const [opened, setOpened] = useState<boolean | undefined>(startsOpen || undefined);
  if (hasProblems && opened === undefined) setOpened(true);
  const open = opened ?? false;
  const id = useId();
  const { index, label } = props;
  return (
    <li className="card" data-entry={entry}>
      <header className="card-head">
        <button
          type="button"
          className="card-fold"
          aria-expanded={open}
          aria-controls={id}
          onClick={() => setOpened(!open)}
        >
          {open ? <ChevronDown aria-hidden="true" /> : <ChevronRight aria-hidden="true" />}
          <span className="visually-hidden">Entry </span>
          <span>{index + 1}</span>
          <span className="visually-hidden"> of {label}</span>
          <span className="card-name">{nameOf(value, schema)}</span>
        </button>
        <EntryTools {...props} />
      </header>
      {open && <div id={id}>{children}</div>}
    </li>
  );
}

function EntryTools({ label, index, count, onMove, onRemove }: Omit<ListItemProps, "entry" | "children">) {
  const mover = (step: 1 | -1, direction: string, arrow: string) => (
    <Button
      className="button button-quiet button-icon"
      aria-label={`Move entry ${index + 1} of ${label} ${direction}`}
      data-step={step}
      unavailable={index + step < 0 || index + step >= count}
      onClick={() => onMove(step)}
    >
      {arrow}
    </Button>
  );
  return (
    <>
      {mover(-1, "up", "↑")}
      {mover(1, "down", "↓")}
      <button
        type="button"
        className="button button-quiet"
        aria-label={`Remove entry ${index + 1} of ${label}`}
        onClick={onRemove}
      >
        Remove
      </button>
    </>
  );
}

/** What tells an entry from the others: its name, or its first text that is not masked. */
function nameOf(given: JsonValue, schema: ValueSchema): string {
  const value = maskParts(withTextsShown(given, schema), schema, mask);
  if (!isJsonObject(value)) return "";
  const texts = [value["name"], value["id"], value["title"], ...Object.values(value)];
  const found = texts.find(one => typeof one === "string" && one !== "" && one !== mask);
  return found === undefined ? "" : shortened(nameToSee(String(found)), maxCharacters);
}
