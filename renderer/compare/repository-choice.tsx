import { useEffect, useState } from "react";
import { Button, ComboBox, Input, Label, ListBox, ListBoxItem, Popover, Text } from "react-aria-components";
import { useScreen } from "../state/store.ts";

/** Repositories that are listed at once; more are found by what is typed. */
const mostListed = 200;

interface Option {
  readonly id: string;
  readonly name: string;
  /** Where it is; found by it too. */
  readonly place?: string | undefined;
}

interface RepositoryChoiceProps {
  /** The id of the one that is chosen. */
  readonly chosen: string | undefined;
  /** What can be chosen besides the repositories. */
  readonly others: readonly Option[];
  /** Whether it is what one comes here for: it is open at once. */
  readonly isNext: boolean;
  onChoose(id: string): void;
}

/** One of the repositories, found by its name or its path as one types. */
export function RepositoryChoice({ chosen, others, isNext, onChoose }: RepositoryChoiceProps) {
  const repositories = useScreen(state => state.repositories) ?? [];
  const options: Option[] = [...others, ...repositories.map(({ id, name, path }) => ({ id, name, place: path ?? id }))];
  const found = options.find(({ id }) => id === chosen);
  const missing = chosen === undefined || found !== undefined ? [] : [{ id: chosen, name: `${chosen} (not there)` }];
  const name = (found ?? missing[0])?.name ?? "";
  const [text, setText] = useState(name);
  /** What was typed since the list is open; of the name that stands there nothing is to be found. */
  const [typed, setTyped] = useState("");
  useEffect(() => setText(name), [name]);
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = [...missing, ...options].filter(option => {
    const searched = `${option.name}\n${"place" in option ? option.place : ""}`.toLowerCase();
    return words.every(word => searched.includes(word));
  });
  const listed = matching.slice(0, mostListed);
  return (
    <ComboBox
      className="compare-repository"
      items={listed}
      selectedKey={chosen ?? null}
      inputValue={text}
      menuTrigger={isNext ? "focus" : "input"}
      allowsEmptyCollection
      autoFocus={isNext}
      onOpenChange={open => !open && setTyped("")}
      onInputChange={next => {
        setText(next);
        setTyped(next === name ? "" : next);
      }}
      onSelectionChange={id => id !== null && id !== chosen && onChoose(String(id))}
    >
      <Label>Repository</Label>
      <span className="compare-input">
        <Input className="input" spellCheck={false} autoComplete="off" placeholder="Type to find one" />
        <Button className="compare-open">
          <span aria-hidden="true" className="select-arrow" />
        </Button>
      </span>
      <Popover className="popover">
        <ListBox<Option> className="options" renderEmptyState={() => <p className="option hint">None is found.</p>}>
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
        {matching.length > listed.length && (
          <p className="option hint">
            and {(matching.length - listed.length).toLocaleString("en")} more: type to find one
          </p>
        )}
      </Popover>
    </ComboBox>
  );
}
