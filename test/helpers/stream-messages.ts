import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";

/** Every message in the stream of a shared world, as text, and the sequence of the first one. */
export async function messagesOf({
  server,
}: {
  readonly server: { readonly url: string };
}): Promise<{ first: number; texts: string[] }> {
  const connection = await connect({ servers: server.url });
  try {
    const manager = await jetstreamManager(connection);
    const { state } = await manager.streams.info("team");
    const texts: string[] = [];
    for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
      const message = await manager.streams.getMessage("team", { seq });
      if (message !== null) texts.push(Buffer.from(message.data).toString("utf8"));
    }
    return { first: state.first_seq, texts };
  } finally {
    await connection.close();
  }
}
