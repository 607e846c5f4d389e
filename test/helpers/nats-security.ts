import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  createAccount,
  createOperator,
  createUser,
  encodeAccount,
  encodeOperator,
  encodeUser,
  fmtCreds,
} from "@nats-io/jwt";

const run = promisify(execFile);

/** The files of our own certificate authority, and of a server's and a client's certificate issued by it. */
export async function makeCertificates(folder: string) {
  const file = (name: string) => join(folder, name);
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const ca = file("ca.pem");
  const authority = ["-subj", "/CN=authority", "-days", "2", "-keyout", file("ca.key"), "-out", ca];
  await run("openssl", ["req", "-x509", ...newKey, ...authority]);
  const sign = async (name: string) => {
    const [request, certificate, key] = [file(`${name}.csr`), file(`${name}.pem`), file(`${name}.key`)];
    await run("openssl", ["req", ...newKey, "-subj", `/CN=${name}`, "-keyout", key, "-out", request]);
    await writeFile(file("names"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n");
    const by = ["-CA", ca, "-CAkey", file("ca.key"), "-CAcreateserial", "-extfile", file("names"), "-days", "2"];
    await run("openssl", ["x509", "-req", "-in", request, ...by, "-out", certificate]);
    return { certificate, key };
  };
  return { ca, server: await sign("server"), client: await sign("client") };
}

/** The server configuration of an operator with one account, and the credentials of a user of it. */
export async function makeCredentials() {
  const [operator, system, account, user] = [createOperator(), createAccount(), createAccount(), createUser()];
  const unlimited = { conn: -1, leaf: -1, imports: -1, exports: -1, subs: -1, data: -1, payload: -1, wildcards: true };
  const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const limits = { ...unlimited, ...storage };
  const by = { signer: operator };
  const accounts = [
    `${system.getPublicKey()}: ${await encodeAccount("system", system, {}, by)}`,
    `${account.getPublicKey()}: ${await encodeAccount("account", account, { limits }, by)}`,
  ];
  const configuration = [
    `operator: ${await encodeOperator("operator", operator)}`,
    "resolver: MEMORY",
    `system_account: ${system.getPublicKey()}`,
    `resolver_preload: { ${accounts.join(", ")} }`,
  ];
  const credentials = fmtCreds(await encodeUser("user", user, account), user);
  return { configuration: `${configuration.join("\n")}\n`, credentials };
}
