import { useState } from "react";
import { daemon } from "../state/connection.ts";
import { notify } from "../state/notices.ts";
import { messageOf } from "../state/saving.ts";
import { screenStore, useScreen } from "../state/store.ts";
import { Modal } from "./modal.tsx";

/** Ends this window's session in the daemon; the page then says so. Asks first where edits would go with it. */
export function SignOut() {
  const edits = useScreen(state => state.pending.size + state.drafts.size);
  const [asking, setAsking] = useState(false);
  const end = async () => {
    setAsking(false);
    try {
      const { id } = await daemon().run("key/self", {});
      await daemon().run("key/revoke", { id });
      screenStore.setState({ pending: new Map(), drafts: new Map() });
    } catch (error) {
      notify("problem", messageOf(error));
    }
  };
  return (
    <>
      <button type="button" className="button button-quiet" onClick={() => (edits > 0 ? setAsking(true) : void end())}>
        Sign out
      </button>
      {asking && (
        <Modal title="Sign out?" onClose={() => setAsking(false)}>
          <p>What is edited here is not saved, and goes with the session.</p>
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
