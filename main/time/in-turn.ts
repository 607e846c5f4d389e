/** Runs `task` one at a time; calls while it runs lead to one more run. */
export function inTurn(task: () => Promise<void>, onError: (error: unknown) => void): () => Promise<void> {
  let last = Promise.resolve();
  let waiting = false;
  return () => {
    if (waiting) return last;
    waiting = true;
    last = last
      .then(() => {
        waiting = false;
        return task();
      })
      .catch(onError);
    return last;
  };
}
