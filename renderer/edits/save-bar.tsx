import { useState } from "react";
import { Button } from "../button.tsx";
import { dropAllEdits } from "../state/edits.ts";
import { saveEdits } from "../state/saving.ts";
import { useScreen } from "../state/store.ts";
import { CopyEdits } from "./copy-edits.tsx";
import { ReviewDialog } from "./review-dialog.tsx";

/** What is edited and not saved, always in sight. */
export function SaveBar() {
  const pending = useScreen(state => state.pending);
  const saving = useScreen(state => state.saving);
  const lost = useScreen(state => state.connection !== "connected");
  const [reviewing, setReviewing] = useState(false);
  const count = pending.size;
  if (count === 0) return undefined;
  const repositories = new Set([...pending.values()].map(({ repo }) => repo)).size;
  return (
    <section className="save-bar" aria-label="Edits">
      <p role="status">
        {count} {count === 1 ? "edit" : "edits"}
        {repositories > 1 && ` in ${repositories} repositories`}, not saved
        {lost && "; they stay in this window"}
      </p>
      <button type="button" className="button button-quiet" onClick={dropAllEdits}>
        Drop all
      </button>
      <button type="button" className="button" onClick={() => setReviewing(true)}>
        Review
      </button>
      {lost && <CopyEdits />}
      <Button
        className="button button-main"
        unavailable={lost}
        pending={saving && "Saving…"}
        onClick={() => void saveEdits("")}
      >
        Save
      </Button>
      {reviewing && <ReviewDialog onClose={() => setReviewing(false)} />}
    </section>
  );
}
