import { Button, Label, ListBox, ListBoxItem, Popover, Select, SelectValue } from "react-aria-components";

export interface ChooseOption {
  readonly id: string;
  readonly text: string;
}

interface ChooseProps {
  readonly label: string;
  readonly options: readonly ChooseOption[];
  /** Whether the label is in sight: above the control, or beside it. Omitted: only screen readers say it. */
  readonly shown?: "above" | "beside";
  /** What it is about, beside a label that is in sight. */
  readonly hint?: string;
  /** The id of the chosen option. */
  readonly chosen: string;
  /** The ids of elements that say more about it. */
  readonly describedBy?: string;
  readonly invalid?: boolean;
  onChoose(id: string): void;
}

/** A choice of one of several options. */
export function Choose({ label, shown, hint, options, chosen, describedBy, invalid = false, onChoose }: ChooseProps) {
  return (
    <Select
      className={shown === "above" ? "select labelled" : "select"}
      data-beside={shown === "beside"}
      {...(shown === undefined && { "aria-label": label })}
      {...(describedBy !== undefined && { "aria-describedby": describedBy })}
      isInvalid={invalid}
      selectedKey={chosen}
      onSelectionChange={id => onChoose(String(id))}
    >
      {shown !== undefined && (
        <Label className="select-label">
          {label} {hint !== undefined && <span className="hint">{hint}</span>}
        </Label>
      )}
      <Button className="input select-button">
        <SelectValue className="select-value" />
        <span aria-hidden="true" className="select-arrow" />
      </Button>
      <Popover className="popover">
        <ListBox className="options" items={options}>
          {({ id, text }) => (
            <ListBoxItem id={id} className="option" textValue={text}>
              {text}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </Select>
  );
}
