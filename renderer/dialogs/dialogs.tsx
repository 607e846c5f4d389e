import { ShortcutsDialog } from "../actions/shortcuts-dialog.tsx";
import { ReviewDialog } from "../edits/review-dialog.tsx";
import { Palette } from "../palette/palette.tsx";
import { closeDialog } from "../state/dialog.ts";
import { useScreen } from "../state/store.ts";
import { AddRepository } from "./add-repository.tsx";
import { RepositoryDialog } from "./repository-dialogs.tsx";
import { SignOutDialog } from "./sign-out.tsx";

/** Renders the open dialog, if it belongs to no particular page. */
export function Dialogs() {
  const dialog = useScreen(state => state.dialog);
  switch (dialog) {
    case "add":
      return <AddRepository onClose={closeDialog} />;
    case "palette":
      return <Palette onClose={closeDialog} />;
    case "review":
      return <ReviewDialog onClose={closeDialog} />;
    case "rename":
    case "move":
    case "remove":
      return <RepositoryDialog key={dialog} what={dialog} onClose={closeDialog} />;
    case "shortcuts":
      return <ShortcutsDialog onClose={closeDialog} />;
    case "sign-out":
      return <SignOutDialog onClose={closeDialog} />;
    case undefined:
      return undefined;
  }
}
