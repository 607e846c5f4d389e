import { daemon } from "../state/connection.ts";
import { closeDialog, openDialog } from "../state/dialog.ts";
import { forgetDrafts, hasUnkeptDrafts, sendDrafts } from "../state/drafts.ts";
import { messageOf, notify } from "../state/notices.ts";
import { Modal } from "./modal.tsx";

/** Ends this window's session; the daemon keeps the edits. Asks first if some edits would be lost. */
export async function signOut(): Promise<void> {
  await sendDrafts();
  if (hasUnkeptDrafts()) openDialog("sign-out");
  else await end();
}

async function end(): Promise<void> {
  closeDialog();
  try {
    const { id } = await daemon().run("key/self", {});
    await daemon().run("key/revoke", { id });
    forgetDrafts();
  } catch (error) {
    notify("problem", messageOf(error));
  }
}

/** Warns that some edits would be lost. */
export function SignOutDialog({ onClose }: { onClose(): void }) {
  return (
    <Modal title="Sign out?" onClose={onClose}>
      <p>Some edits in this window are not stored in the daemon and will be lost.</p>
      <p className="dialog-tools">
        <button type="button" className="button button-quiet" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="button" onClick={() => void end()}>
          Sign out and discard them
        </button>
      </p>
    </Modal>
  );
}
