import { Switch } from "react-aria-components";
import type { EditorProps } from "./editor.tsx";

export function SwitchEditor({ value, label, describedBy, onChange }: EditorProps) {
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
      <span className="switch-text">{value === true ? "on" : "off"}</span>
    </Switch>
  );
}
