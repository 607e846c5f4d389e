import { copyText } from "../state/copy.ts";
import { findField, screenStore } from "../state/store.ts";
import { editCommands } from "./edit-commands.ts";

/** For a tab that can no longer save: copies the edits as commands for a terminal. */
export function CopyEdits() {
  const commands = () => {
    const { pending, scopes } = screenStore.getState();
    return editCommands(pending.values(), (scope, field) => findField(scopes, scope, field));
  };
  return (
    <CopyButton
      label="Copy edits"
      text={commands}
      done="Copied the edits as commands. Paste them into a terminal."
      what="The edits as commands"
    />
  );
}

interface CopyButtonProps {
  readonly label: string;
  readonly text: () => string;
  /** The message once it is copied, and the name of the text, for browsers that do not let the page copy. */
  readonly done: string;
  readonly what: string;
}

export function CopyButton({ label, text, done, what }: CopyButtonProps) {
  return (
    <button type="button" className="button" onClick={() => void copyText(text(), done, what)}>
      {label}
    </button>
  );
}
