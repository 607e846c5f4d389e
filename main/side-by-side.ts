/** Runs `task` for each item, `width` of them at a time. Rejects with the first failure. */
export async function sideBySide<Item>(
  items: Iterable<Item>,
  width: number,
  task: (item: Item) => Promise<void>,
): Promise<void> {
  // One that all of them take from.
  const left = [...items].values();
  const runRemaining = async () => {
    for (const item of left) await task(item);
  };
  await Promise.all(Array.from({ length: width }, runRemaining));
}
