import { randomBytes } from "node:crypto";
import { io, type Socket } from "socket.io-client";
import { sign } from "../../main/home/credentials.ts";
import { type ClientProof, clientText, type Handshake, serverText, sessionText } from "../../shared/handshake.ts";

/** A key's text, which is sent; a session or a link's code, which is proven without being sent; undefined: nothing. */
export type TestKey = string | TestSession | undefined;

/** The result of `session/create`; `secret` is hexadecimal. */
export interface TestSession {
  readonly id: string;
  readonly secret: string;
}

/** The proof of a session on a connection. */
export function proofOf({ id, secret }: TestSession, handshake: Handshake): ClientProof {
  return { keyId: id, nonce: handshake.nonce, proof: sign(Buffer.from(secret, "hex"), clientText(handshake)) };
}

/**
 * Connects a bare socket to a daemon; resolves once connected and, for a proven daemon, once it has proven itself. Rejects with
 * the handshake's error (its `data` holds the code) if the daemon refuses, and if the connection is lost before, which
 * socket.io-client itself does not report. `onProven` receives the secret that both sides derive from a link's code.
 * `headers` are sent with the upgrade.
 */
export async function openSocket(
  url: string,
  key: TestKey,
  onProven: (session: TestSession) => void = () => {},
  headers: { readonly [name: string]: string } = {},
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
    extraHeaders: headers,
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
    // Deferred until after `connect_error`, which is emitted in the same turn if the daemon refuses.
    socket.io.engine.once("close", reason =>
      queueMicrotask(() => reject(new Error(`the connection was lost: ${reason}`))),
    );
  });
  return socket;
}

/** The code in a link to the screen, as a session to prove. */
export function codeOf(link: string): TestSession {
  const [id = "", secret = ""] = new URLSearchParams(new URL(link).hash.slice(1)).get("code")?.split(".") ?? [];
  return { id, secret };
}

/** Follows a link as the page does, by the daemon's address. Returns the session made from it. Rejects like `openSocket`. */
export async function followLink(link: string): Promise<TestSession> {
  const { promise, resolve } = Promise.withResolvers<TestSession>();
  // The page uses the screen's host name, which not every system's resolver knows.
  const socket = await openSocket(`http://127.0.0.1:${new URL(link).port}`, codeOf(link), resolve);
  socket.close();
  return promise;
}
