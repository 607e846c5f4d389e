import { Switch } from "react-aria-components";
import type { EditorProps } from "./editor.tsx";

/** On or off. Where nobody has set it, the first press turns it on. */
export function SwitchEditor({ value, label, describedBy, nothing = "not set", onChange }: EditorProps) {
  return (
    <Switch
      className="switch"
      isSelected={value === true}
      onChange={onChange}
      aria-label={label}
      {...(describedBy !== undefined && { "aria-describedby": describedBy })}
    >
      <span className="switch-track" aria-hidden="true">
        <span className="switch-thumb" />
      </span>
      <span className="switch-text">{value === null ? nothing : value === true ? "on" : "off"}</span>
    </Switch>
  );
}
