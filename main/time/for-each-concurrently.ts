/** Runs `task` for each item, at most `concurrency` at a time. Rejects with the first failure; running tasks are not cancelled. */
export async function forEachConcurrently<Item>(
  items: Iterable<Item>,
  concurrency: number,
  task: (item: Item) => Promise<void>,
): Promise<void> {
  // One iterator, from which all workers take the next item.
  const remaining = [...items].values();
  const work = async () => {
    for (const item of remaining) await task(item);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}
