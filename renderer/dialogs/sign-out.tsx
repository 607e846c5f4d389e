import { useState } from "react";
import { daemon } from "../state/connection.ts";
import { forgetDrafts, hasUnkeptDrafts, sendDrafts } from "../state/drafts.ts";
import { messageOf, notify } from "../state/notices.ts";
import { Modal } from "./modal.tsx";

/** Ends this window's session in the daemon, which keeps the edits. Asks first where some would go with the session. */
export function SignOut() {
  const [asking, setAsking] = useState(false);
  const ask = async () => {
    await sendDrafts();
    if (hasUnkeptDrafts()) setAsking(true);
    else await end();
  };
  const end = async () => {
    setAsking(false);
    try {
      const { id } = await daemon().run("key/self", {});
      await daemon().run("key/revoke", { id });
      forgetDrafts();
    } catch (error) {
      notify("problem", messageOf(error));
    }
  };
  return (
    <>
      <button type="button" className="button button-quiet" onClick={() => void ask()}>
        Sign out
      </button>
      {asking && (
        <Modal title="Sign out?" onClose={() => setAsking(false)}>
          <p>The daemon does not keep all that is edited here, and the rest goes with the session.</p>
          <p className="dialog-tools">
            <button type="button" className="button button-quiet" onClick={() => setAsking(false)}>
              Back
            </button>
            <button type="button" className="button" onClick={() => void end()}>
              Sign out and drop the edits
            </button>
          </p>
        </Modal>
      )}
    </>
  );
}
