import { beginPolling } from "./raw-http.ts";

export type RawPolling = Awaited<ReturnType<typeof openRawPolling>>;

/** A Socket.IO connection over polling: sends each request, at `target`, when the test says so, and shows each payload. */
export async function openRawPolling(url: string, key: string) {
  const read = async (target: string, options: RequestInit = {}) => {
    const response = await fetch(url + target, options);
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status} ${text}`);
    return text;
  };
  const { sid, target } = await beginPolling(url);
  /** Sends packets in one payload. */
  const post = async (...packets: readonly string[]) => {
    await read(target, { method: "POST", body: packets.join("\u001e") });
  };
  /** The packets of the next payload. Waits until there is one. */
  const poll = async (): Promise<readonly string[]> => (await read(target)).split("\u001e");
  await post(`40${JSON.stringify({ apiKey: key })}`);
  const [reply] = await poll();
  if (reply?.startsWith("40") !== true) throw new Error(`refused: ${reply}`);
  return { target, sid, post, poll };
}
