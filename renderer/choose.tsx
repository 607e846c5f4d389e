import { Button, ListBox, ListBoxItem, Popover, Select, SelectValue } from "react-aria-components";

export interface ChooseOption {
  readonly id: string;
  readonly text: string;
}

interface ChooseProps {
  readonly label: string;
  readonly options: readonly ChooseOption[];
  /** The id of the chosen option. */
  readonly chosen: string;
  /** The ids of elements that say more about it. */
  readonly describedBy?: string;
  readonly invalid?: boolean;
  onChoose(id: string): void;
}

/** A choice of one of several options. Where there may be very many, the browser's own select takes its place. */
export function Choose({ label, options, chosen, describedBy, invalid = false, onChoose }: ChooseProps) {
  return (
    <Select
      className="select"
      aria-label={label}
      {...(describedBy !== undefined && { "aria-describedby": describedBy })}
      isInvalid={invalid}
      selectedKey={chosen}
      onSelectionChange={id => onChoose(String(id))}
    >
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
