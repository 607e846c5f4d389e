interface AddEntryProps {
  /** What the entry is added to. */
  readonly label: string;
  onPress(): void;
}

/** The button at the end of a list. */
export function AddEntry({ label, onPress }: AddEntryProps) {
  return (
    <button type="button" className="button" onClick={onPress}>
      Add an entry<span className="visually-hidden"> to {label}</span>
    </button>
  );
}
