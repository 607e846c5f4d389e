import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";

interface Served {
  readonly server: { readonly url: string };
}

async function ask<Answer>({ server }: Served, question: (manager: JetStreamManager) => Promise<Answer>) {
  const connection = await connect({ servers: server.url });
  try {
    return await question(await jetstreamManager(connection));
  } finally {
    await connection.close();
  }
}

/** The sequence number of the first message in the stream of a shared world. */
export function firstMessageOf(world: Served): Promise<number> {
  return ask(world, async ({ streams }) => (await streams.info("team")).state.first_seq);
}

/** Every message in the stream of a shared world, as text. */
export function messagesOf(world: Served): Promise<string> {
  return ask(world, async ({ streams }) => {
    const { state } = await streams.info("team");
    const texts: string[] = [];
    for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
      const message = await streams.getMessage("team", { seq });
      if (message !== null) texts.push(Buffer.from(message.data).toString("utf8"));
    }
    return texts.join();
  });
}
