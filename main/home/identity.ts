import { createHmac } from "node:crypto";
import type { Endpoint } from "./endpoint-file.ts";

const noncePattern = /^[0-9a-f]{32,128}$/i;

/**
 * Proves to a client that the daemon knows the endpoint's secret: a hexadecimal HMAC-SHA256 of the URL and the client's nonce. Undefined
 * if the nonce is not 32 to 128 hexadecimal digits. The daemon serves it at `GET /identity?nonce=N`, and clients compare.
 */
export function identityProof(
  endpoint: Pick<Endpoint, "url" | "instanceSecret">,
  nonce: string | null,
): string | undefined {
  if (nonce === null || !noncePattern.test(nonce)) return undefined;
  return createHmac("sha256", endpoint.instanceSecret)
    .update(`repoconf identity 1\n${endpoint.url}\n${nonce}`)
    .digest("hex");
}
