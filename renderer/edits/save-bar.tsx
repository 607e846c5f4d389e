import { Button } from "../parts/button.tsx";
import { CopyEdits } from "../parts/copy-edits.tsx";
import { openDialog } from "../state/dialog.ts";
import { discardAllEdits } from "../state/edits.ts";
import { addressOf } from "../state/place.ts";
import { cancelSaving, saveEdits } from "../state/saving.ts";
import { nameOfRepository, useScreen } from "../state/store.ts";
import { InvalidNote } from "./invalid-note.tsx";
import { savingText } from "./saving-text.ts";

/** The unsaved edits, always visible. */
export function SaveBar() {
  const pending = useScreen(state => state.pending);
  const saving = useScreen(state => state.saving);
  const lost = useScreen(state => state.connection !== "connected");
  const count = pending.size;
  if (count === 0) return <EditedTexts />;
  const repositories = new Set([...pending.values()].map(({ repo }) => repo)).size;
  return (
    <section className="save-bar" aria-label="Edits">
      <InvalidNote />
      <p role="status">
        {count} {count === 1 ? "edit" : "edits"}
        {repositories > 1 && ` in ${repositories} repositories`}, not saved
        {lost && "; kept in this window"}
      </p>
      <EditedTexts />
      <button type="button" className="button button-quiet" onClick={discardAllEdits}>
        Discard all
      </button>
      <button type="button" className="button" onClick={() => openDialog("review")}>
        Review
      </button>
      {lost && <CopyEdits />}
      <Button
        className="button button-main"
        unavailable={lost}
        pending={saving !== undefined && savingText(saving)}
        onClick={() => void saveEdits("")}
      >
        Save
      </Button>
      {saving !== undefined && saving.total > 1 && (
        <Button className="button" unavailable={saving.isCancelled} onClick={cancelSaving}>
          Cancel<span className="visually-hidden"> the save</span>
        </Button>
      )}
    </section>
  );
}

/** Edited texts of files other than the shown one; each is saved on its own page. */
function EditedTexts() {
  const drafts = useScreen(state => state.drafts);
  const shown = useScreen(state =>
    state.place.page === "repo" && state.place.view === "json" ? state.place.repo : undefined,
  );
  const repositories = useScreen(state => state.repositories);
  const hidden = [...drafts.keys()].filter(repo => repo !== shown);
  if (hidden.length === 0) return undefined;
  return (
    <p className="edited-texts">
      Unsaved text edits:{" "}
      {hidden.map(repo => (
        <a key={repo} className="link" href={addressOf({ page: "repo", view: "json", repo })}>
          {nameOfRepository({ repositories }, repo)}
        </a>
      ))}
    </p>
  );
}
