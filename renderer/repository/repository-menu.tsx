import { Ellipsis } from "lucide-react";
import { ActionMenu } from "../actions/action-menu.tsx";
import { repositoryActions } from "../actions/repository-actions.ts";
import { useScreen } from "../state/store.ts";

/** What a person can do with the repository that the page shows. */
export function RepositoryMenu({ name }: { readonly name: string }) {
  const applying = useScreen(state =>
    repositoryActions
      .filter(({ applies }) => applies?.(state) !== false)
      .map(({ id }) => id)
      .join(" "),
  ).split(" ");
  const entries = repositoryActions
    .filter(({ id }) => applying.includes(id))
    .map(action => ({ text: action.short ?? action.title, action }));
  return (
    <ActionMenu label={`Actions of ${name}`} className="button button-icon page-menu" entries={entries}>
      <Ellipsis aria-hidden="true" />
      <span className="visually-hidden">Actions of {name}</span>
    </ActionMenu>
  );
}
