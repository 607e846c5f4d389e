import { beginPolling } from "./raw-http.ts";

/** A Socket.IO connection over polling that sends each request when the test says so, and shows each payload as it is. */
export interface RawPolling {
  /** The path and query of its requests. */
  readonly target: string;
  /** Engine.IO's id of the connection. */
  readonly sid: string;
  /** Sends packets in one payload. */
  post(...packets: readonly string[]): Promise<void>;
  /** The packets of the next payload. Waits until there is one. */
  poll(): Promise<readonly string[]>;
}

/** Connects with this key. */
export async function openRawPolling(url: string, key: string): Promise<RawPolling> {
  const read = async (target: string, options: RequestInit = {}) => {
    const response = await fetch(url + target, options);
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status} ${text}`);
    return text;
  };
  const { sid, target } = await beginPolling(url);
  const post = async (...packets: readonly string[]) => {
    await read(target, { method: "POST", body: packets.join("\u001e") });
  };
  const poll = async () => (await read(target)).split("\u001e");
  await post(`40${JSON.stringify({ apiKey: key })}`);
  const [reply] = await poll();
  if (reply?.startsWith("40") !== true) throw new Error(`refused: ${reply}`);
  return { target, sid, post, poll };
}
