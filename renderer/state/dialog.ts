import { type DialogName, screenStore } from "./store.ts";

/** Opens a dialog that belongs to no particular page, replacing an open one. */
export function openDialog(dialog: DialogName): void {
  screenStore.setState({ dialog });
}

export function closeDialog(): void {
  screenStore.setState({ dialog: undefined });
}
