import type { ReactNode } from "react";
import { Button, Menu, MenuItem, MenuTrigger, Popover } from "react-aria-components";
import type { Action } from "./action.ts";
import { shownKeys } from "./keys.ts";

export interface MenuEntry {
  readonly text: string;
  readonly icon?: ReactNode;
  readonly action: Action;
}

interface ActionMenuProps {
  readonly label: string;
  /** What the button shows. */
  readonly children: ReactNode;
  readonly className: string;
  readonly entries: readonly MenuEntry[];
}

/** A button that opens a menu of actions. */
export function ActionMenu({ label, children, className, entries }: ActionMenuProps) {
  return (
    <MenuTrigger>
      <Button className={className}>{children}</Button>
      <Popover className="popover" placement="bottom end">
        <Menu className="options" aria-label={label}>
          {entries.map(({ text, icon, action }) => (
            <MenuItem key={text} className="option menu-item" textValue={text} onAction={action.run}>
              {icon}
              <span className="menu-text">{text}</span>
              {action.keys?.[0] && <kbd>{shownKeys(action.keys[0])}</kbd>}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}
