/** A daemon of another protocol: `other-protocol-process.ts HOME`. It proves itself, exits on SIGTERM, and does nothing else. */
import { unlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { newEndpoint } from "../../main/daemon/home/endpoint.ts";
import { homeAt } from "../../main/home/home.ts";
import { identityProof } from "../../main/home/identity.ts";

const home = homeAt(process.argv[2] ?? "");
const file = home.endpointFile;
const server = createServer((request, response) => {
  const nonce = new URL(request.url ?? "", endpoint.url).searchParams.get("nonce");
  response.end(identityProof(endpoint, nonce));
});
await new Promise<void>(listening => server.listen(0, "127.0.0.1", listening));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const endpoint = { ...newEndpoint({ url }, "0.0.1", new Date(), home), protocol: 0 };
writeFileSync(file, JSON.stringify(endpoint), { mode: 0o600 });
process.once("SIGTERM", () => {
  unlinkSync(file);
  process.exit(0);
});
