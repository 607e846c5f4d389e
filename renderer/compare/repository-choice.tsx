import { useEffect, useRef, useState } from "react";
import { Button, ComboBox, Input, Label, ListBox, ListBoxItem, Popover, Text } from "react-aria-components";
import { useScreen } from "../state/store.ts";

/** The maximum of repositories listed at once; typing finds the others. */
const maxListed = 200;

interface Option {
  readonly id: string;
  readonly name: string;
  /** Its path or similar; the filter searches it too. */
  readonly place?: string | undefined;
}

interface RepositoryChoiceProps {
  /** The id of the chosen option. */
  readonly chosen: string | undefined;
  /** Options besides the repositories. */
  readonly others: readonly Option[];
  /** Whether it opens at once, because choosing it is the next step. */
  readonly isNext: boolean;
  onChoose(id: string): void;
}

/** A choice of one repository, filtered by name or path while typing. */
export function RepositoryChoice({ chosen, others, isNext, onChoose }: RepositoryChoiceProps) {
  const repositories = useScreen(state => state.repositories) ?? [];
  const options: Option[] = [
    ...others,
    ...repositories.map(({ id, name, path }) => ({ id, name, place: path ?? (id === name ? undefined : id) })),
  ];
  const current =
    options.find(({ id }) => id === chosen) ??
    (chosen === undefined ? undefined : { id: chosen, name: `${chosen} (not found)` });
  /** What was typed since the list was opened. */
  const [typed, setTyped] = useState("");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isNext) input.current?.focus();
  }, [isNext]);
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = options.filter(({ id, name, place = "" }) => {
    const searched = `${name}\n${place}\n${id}`.toLowerCase();
    return words.every(word => searched.includes(word));
  });
  const listed = matching.slice(0, maxListed);
  // The chosen one is always listed: the text returns to its name if nothing else is chosen.
  if (current !== undefined && !listed.includes(current)) listed.push(current);
  return (
    <ComboBox
      className="compare-repository"
      items={listed}
      selectedKey={chosen ?? null}
      allowsEmptyCollection
      menuTrigger={isNext ? "focus" : "input"}
      onOpenChange={open => !open && setTyped("")}
      onInputChange={next => setTyped(next === current?.name ? "" : next)}
      onSelectionChange={id => id !== null && id !== chosen && onChoose(String(id))}
    >
      <Label>Repository</Label>
      <span className="compare-input">
        <Input ref={input} className="input" spellCheck={false} autoComplete="off" placeholder="Type to search" />
        <Button className="compare-open">
          <span aria-hidden="true" className="select-arrow" />
        </Button>
      </span>
      <Popover className="popover">
        <section aria-label="Repositories to choose from">
          <ListBox<Option>
            className="options"
            renderEmptyState={() => <p className="option hint">No repository found.</p>}
          >
            {option => (
              <ListBoxItem id={option.id} className="option compare-option" textValue={option.name}>
                <Text slot="label">{option.name}</Text>
                {option.place !== undefined && (
                  <Text slot="description" className="hint">
                    {option.place}
                  </Text>
                )}
              </ListBoxItem>
            )}
          </ListBox>
          {matching.length > maxListed && (
            <p className="option hint">
              and {(matching.length - maxListed).toLocaleString("en")} more: type to find one
            </p>
          )}
        </section>
      </Popover>
    </ComboBox>
  );
}
