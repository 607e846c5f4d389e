import { createHmac } from "node:crypto";
import type { Endpoint } from "./endpoint-file.ts";

const nonceForm = /^[0-9a-f]{32,128}$/i;

/**
 * What only a daemon that knows the endpoint's secret can answer to a nonce (hexadecimal HMAC-SHA256); undefined for a
 * nonce that is not 32 to 128 hexadecimal digits. The daemon serves it at `GET /identity?nonce=N`; clients compare.
 */
export function identityProof(
  endpoint: Pick<Endpoint, "url" | "instanceSecret">,
  nonce: string | null,
): string | undefined {
  if (nonce === null || !nonceForm.test(nonce)) return undefined;
  return createHmac("sha256", endpoint.instanceSecret)
    .update(`repoconf identity 1\n${endpoint.url}\n${nonce}`)
    .digest("hex");
}
