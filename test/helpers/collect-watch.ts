/** Collects what a watch yields until it ends; `ended` resolves to what it threw, if anything. */
export function collectWatch<Message>(watch: AsyncIterable<Message>): {
  readonly seen: Message[];
  readonly ended: Promise<unknown>;
} {
  const seen: Message[] = [];
  const take = async () => {
    for await (const message of watch) seen.push(message);
  };
  return {
    seen,
    ended: take().then(
      () => undefined,
      (error: unknown) => error,
    ),
  };
}
