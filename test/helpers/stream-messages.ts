import { askServers } from "./nats-server.ts";
import { patience } from "./patience.ts";

interface Served {
  readonly server: { readonly url: string };
}

/** The sequence number of the first message in the stream of a shared world. */
export function firstMessageOf({ server }: Served): Promise<number> {
  return askServers([server.url], async ({ streams }) => (await streams.info("team")).state.first_seq, patience);
}

/** Every message in the stream of a shared world, as text. */
export function messagesOf({ server }: Served): Promise<string> {
  return askServers(
    [server.url],
    async ({ streams }) => {
      const { state } = await streams.info("team");
      const texts: string[] = [];
      for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
        const message = await streams.getMessage("team", { seq });
        if (message !== null) texts.push(Buffer.from(message.data).toString("utf8"));
      }
      return texts.join();
    },
    patience,
  );
}
