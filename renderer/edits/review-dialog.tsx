import { type FormEvent, useState } from "react";
import { DialogFoot } from "../dialogs/dialog-foot.tsx";
import { Modal } from "../dialogs/modal.tsx";
import { cancelSaving, saveEdits } from "../state/saving.ts";
import { screenStore, useScreen } from "../state/store.ts";
import { EditsDiff } from "./edits-diff.tsx";
import { savingText } from "./saving-text.ts";

/** The edits as a diff, to be saved together with a reason. */
export function ReviewDialog({ onClose }: { onClose(): void }) {
  const pending = useScreen(state => state.pending);
  const saving = useScreen(state => state.saving);
  const connected = useScreen(state => state.connection === "connected");
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<string>();
  const unavailable = !connected || pending.size === 0;
  const save = async (event: FormEvent) => {
    event.preventDefault();
    // Shortcuts can trigger this too.
    if (saving !== undefined || unavailable) return;
    if (await saveEdits(reason.trim())) return onClose();
    // Notices at the bottom of the page are hidden behind a dialog.
    setProblem(screenStore.getState().notices.findLast(({ kind }) => kind === "problem")?.text);
  };
  return (
    <Modal title="Review edits" onClose={onClose}>
      <form
        className="review"
        onSubmit={event => void save(event)}
        onKeyDown={event => {
          if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s") return;
          // The page's own shortcut would save without the reason.
          event.preventDefault();
          event.stopPropagation();
          event.currentTarget.requestSubmit();
        }}
      >
        <EditsDiff />
        {pending.size === 0 && <p>Nothing to save.</p>}
        <DialogFoot
          reason={reason}
          onReason={setReason}
          problem={problem}
          unavailable={unavailable}
          pending={saving !== undefined && savingText(saving)}
          onClose={saving === undefined ? onClose : cancelSaving}
        >
          Save {pending.size === 1 ? "this edit" : `these ${pending.size} edits`}
        </DialogFoot>
      </form>
    </Modal>
  );
}
