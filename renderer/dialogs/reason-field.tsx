interface ReasonFieldProps {
  readonly value: string;
  onChange(value: string): void;
}

/** Why a change is made, as the history will tell it. */
export function ReasonField({ value, onChange }: ReasonFieldProps) {
  return (
    <label className="labelled">
      Reason <span className="hint">(optional; it stays in the history)</span>
      <input className="input" maxLength={1000} value={value} onChange={event => onChange(event.target.value)} />
    </label>
  );
}
