import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { statuses } from "../../../main/daemon/http/statuses.ts";
import type { OperationName, Reply } from "../../../shared/protocol.ts";
import { startTestDaemon, type TestClient, type TestDaemon, until } from "../../helpers/daemon.ts";
import { files, names, operations } from "../../helpers/every-operation.ts";
import { post, socketOf } from "../../helpers/one-shot.ts";

/** What differs between two daemons, and from one call to the next. */
function alike(t: TestDaemon, reply: Reply): unknown {
  const text = JSON.stringify(reply)
    .replaceAll(t.homeFolder, "HOME")
    .replaceAll(`:${new URL(t.url).port}`, ":PORT")
    .replace(/repoconf_[0-9a-f]{12}_[\w-]{43}/g, "KEY")
    .replace(/"position":"[\w-]+"/g, `"position":""`)
    .replace(/[0-9a-f]{12,}/g, "HEX")
    .replace(/\d{4}-\d\d-\d\dT[\d:.-]+Z/g, "TIME");
  const made = JSON.parse(text);
  // Keys are sorted by random ids, and entries of several histories by the moments in which their files were first read.
  const [first] = Array.isArray(made.result) ? made.result : [];
  if (first?.createdAt !== undefined || first?.position !== undefined)
    made.result.sort((one: object, other: object) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  return made;
}

/** In an order in which the later ones still find what they need. Undefined: not tried. */
const trials: readonly (readonly [what: string, args: (name: OperationName) => object | undefined])[] = [
  ["no arguments", () => ({})],
  ["arguments of wrong types", name => Object.fromEntries(Object.keys(operations[name]).map(one => [one, { a: [1] }]))],
  [
    "a repository that does not exist",
    name => ("repo" in operations[name] ? { ...operations[name], repo: "nowhere" } : undefined),
  ],
  ["schemas asked for", name => (name === "config/list" ? { repo: "other", schemas: true } : undefined)],
  [
    "typed changes",
    name =>
      name === "config/set"
        ? { repo: "other", schemas: true, typed: [{ place: "svc.envvars.PORT", op: "set", text: "80" }] }
        : undefined,
  ],
  ["right arguments", name => operations[name]],
];

// Two daemons on equal homes; on each, one door is used.
describe.runIf(process.platform !== "win32")(
  "each operation is answered alike over Socket.IO and by a one-shot request",
  () => {
    let bySocket: TestDaemon;
    let byPost: TestDaemon;
    const start = () => startTestDaemon({ files, repositories: ["other"], onStop: () => {} });
    beforeAll(async () => {
      [bySocket, byPost] = [await start(), await start()];
    });
    afterAll(async () => {
      await bySocket[Symbol.asyncDispose]();
      await byPost[Symbol.asyncDispose]();
    });

    async function compare(client: TestClient, key: string, name: OperationName, args: object): Promise<void> {
      const given = await post(await socketOf(byPost.homeFolder), key, name, args);
      if (name.endsWith("watch")) {
        expect(given).toMatchObject({ status: 404, reply: { result: null, errors: [{ code: 1109 }] } });
        return;
      }
      const wanted = await client.call(name, { ...args });
      expect(alike(byPost, given.reply)).toEqual(alike(bySocket, wanted));
      const byCode: { readonly [code: number]: number } = statuses;
      if (given.status !== 200) expect(given.status).toBe(byCode[given.reply.errors[0]?.code ?? 0]);
    }

    test("with a key that may read one field of one repository", async () => {
      const grants = [{ repos: ["shop"], fields: ["svc.timeout"], right: "read" as const }];
      const args = { name: "narrow", grants };
      const { key: sameKey, id } = (await bySocket.owner.call("key/create", args)).result;
      const client = await bySocket.connect(sameKey);
      const { key } = (await byPost.owner.call("key/create", args)).result;
      for (const name of names) await compare(client, key, name, operations[name]);
      client.socket.close();
      await until(() => bySocket.daemon.countClients(id) === 0, "the daemon to notice");
    });

    test.each(trials)("with the owner's key, and %s", async (_what, argsOf) => {
      for (const name of names) {
        const args = argsOf(name);
        if (args !== undefined) await compare(bySocket.owner, byPost.ownerKey, name, args);
      }
    });
  },
);
