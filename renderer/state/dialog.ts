import { type DialogName, screenStore } from "./store.ts";

/** Opens one of the dialogs that belong to no page. It takes the place of another one of them. */
export function openDialog(dialog: DialogName): void {
  screenStore.setState({ dialog });
}

export function closeDialog(): void {
  screenStore.setState({ dialog: undefined });
}
