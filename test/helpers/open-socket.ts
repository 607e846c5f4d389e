import { randomBytes } from "node:crypto";
import { io, type Socket } from "socket.io-client";
import { sign } from "../../main/credentials.ts";
import { type ClientProof, clientText, type Handshake, serverText, sessionText } from "../../shared/handshake.ts";

/** What a client connects with: a key's text, which is shown, or a session or a link's code, which is proven; undefined: nothing. */
export type TestKey = string | TestSession | undefined;

/** As `session/create` answers it; `secret` is hexadecimal. */
export interface TestSession {
  readonly id: string;
  readonly secret: string;
}

/** What proves it on a connection. */
export function proofOf({ id, secret }: TestSession, handshake: Handshake): ClientProof {
  return { keyId: id, nonce: handshake.nonce, proof: sign(Buffer.from(secret, "hex"), clientText(handshake)) };
}

/**
 * A bare socket to a daemon, connected, and once a proven daemon has proven itself too. Rejects with the handshake's error (its
 * `data` holds the code) if the daemon refuses, and when the connection is lost on the way, of which socket.io-client itself says
 * nothing. `onProven` is told the secret that both sides derive of a link's code.
 */
export async function openSocket(
  url: string,
  key: TestKey,
  onProven: (session: TestSession) => void = () => {},
): Promise<Socket> {
  const nonce = randomBytes(32).toString("hex");
  let handshake: Handshake | undefined;
  const socket = io(url, {
    auth: send => {
      if (typeof key !== "object") return send(key === undefined ? {} : { apiKey: key });
      handshake = { url, engineId: socket.io.engine.id, nonce };
      send(proofOf(key, handshake));
    },
    reconnection: false,
    forceNew: true,
    transports: ["websocket"],
  });
  await new Promise<void>((resolve, reject) => {
    if (typeof key !== "object") socket.once("connect", resolve);
    else
      socket.once("svc", (kind: unknown, proof: unknown) => {
        const secret = Buffer.from(key.secret, "hex");
        if (handshake === undefined || kind !== "session" || proof !== sign(secret, serverText(handshake)))
          return reject(new Error("this is not the daemon"));
        onProven({ id: key.id, secret: sign(secret, sessionText(handshake)) });
        resolve();
      });
    socket.once("connect_error", error => {
      socket.close();
      reject(error);
    });
    // After `connect_error`, which comes together with it where the daemon refuses.
    socket.io.engine.once("close", reason =>
      queueMicrotask(() => reject(new Error(`the connection was lost: ${reason}`))),
    );
  });
  return socket;
}

/** The code in a link to the screen, as what proves it. */
export function codeOf(link: string): TestSession {
  const [id = "", secret = ""] = new URLSearchParams(new URL(link).hash.slice(1)).get("code")?.split(".") ?? [];
  return { id, secret };
}

/** Follows a link as the page does, by the daemon's address: the session that it becomes. Rejects as `openSocket`. */
export async function followLink(link: string): Promise<TestSession> {
  const { promise, resolve } = Promise.withResolvers<TestSession>();
  // The page calls it by the screen's name, which not every system's resolver knows.
  const socket = await openSocket(`http://127.0.0.1:${new URL(link).port}`, codeOf(link), resolve);
  socket.close();
  return promise;
}
