import { type MatrixSort, type MatrixView, screenStore } from "../state/store.ts";

/** In rem, of a column: what it has first, and its bounds. */
const columnWidth = 10;
const [narrowest, widest] = [4, 60];

export function changeView(part: Partial<MatrixView>): void {
  screenStore.setState(({ matrixView }) => ({ matrixView: { ...matrixView, ...part } }));
}

/** Sorts by a field: ascending, then descending, then by name again. */
export function sortBy(field: string): void {
  const { sort } = screenStore.getState().matrixView;
  changeView({ sort: nextSort(field, sort) });
}

function nextSort(field: string, sort: MatrixSort | undefined): MatrixSort | undefined {
  if (sort?.field !== field) return { field, isDescending: false };
  return sort.isDescending ? undefined : { field, isDescending: true };
}

export function widthOf({ widths }: MatrixView, field: string): number {
  return widths.get(field) ?? columnWidth;
}

/** Makes a column that wide, in rem, within its bounds. */
export function resize(field: string, width: number): void {
  const bounded = Math.max(narrowest, Math.min(widest, width));
  changeView({ widths: new Map(screenStore.getState().matrixView.widths).set(field, bounded) });
}
