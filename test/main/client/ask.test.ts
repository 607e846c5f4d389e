import { chmod, chown, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { ask } from "../../../main/client/ask.ts";
import { homeAt } from "../../../main/home/home.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const key = `repoconf_0123456789ab_${"A".repeat(43)}`;
const stranger = 12_345;

/** A home whose daemon is a server of the test: `answer` gets each connection once it has sent something. */
async function startImpostor(answer: (socket: Socket) => void = () => {}) {
  const folder = await temporaryFolder();
  const home = homeAt(join(folder.path, "home"));
  await mkdir(home.socket, { recursive: true, mode: 0o700 });
  const path = join(home.socket, "0a1b2c3d");
  const requests: string[] = [];
  let connections = 0;
  const server = createServer(socket => {
    connections++;
    socket.on("error", () => {});
    socket.once("data", part => {
      requests.push(part.toString());
      answer(socket);
    });
  });
  await new Promise<void>(resolve => server.listen(path, resolve));
  const instance = { instanceId: "", instanceSecret: "", url: "http://127.0.0.1:1", startedAt: "", version: "0.0.1" };
  await writeFile(home.endpointFile, JSON.stringify({ protocol: 1, pid: 1, socket: path, ...instance }));
  await writeFile(home.ownerKeyFile, `${key}\n`);
  return {
    home,
    path,
    requests,
    get connections() {
      return connections;
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

type Impostor = Awaited<ReturnType<typeof startImpostor>>;

describe.runIf(process.platform !== "win32")("one request over the daemon's own socket", () => {
  test("is not sent to a daemon that is older than the caller wants", async () => {
    await using impostor = await startImpostor();
    const asked = ask(impostor.home, "repo/list", {}, { atLeast: "0.0.2" });
    await expect(asked).rejects.toMatchObject({ code: 1200, message: expect.stringContaining("repoconf restart") });
    expect(impostor.connections).toBe(0);
    const same = ask(impostor.home, "repo/list", {}, { atLeast: "0.0.1", timeout: 10 });
    await expect(same).rejects.toMatchObject({ code: 1201 });
    expect(impostor.connections).toBe(1);
  });

  test("is answered with the reply, whatever its errors are", async () => {
    await using t = await startTestDaemon({ repositories: ["shop"] });
    const home = homeAt(t.homeFolder);
    expect(await ask(home, "config/set", { repo: "shop", "svc.timeout": 30 })).toMatchObject({ errors: [] });
    const args = { repo: "shop", field: "svc.timeout" };
    expect(await ask(home, "config/list", args)).toEqual(await t.owner.call("config/list", args));
    expect(await ask(home, "config/list", { repo: "nowhere" })).toMatchObject({ result: {}, errors: [{ code: 1102 }] });
    expect(await ask(home, "key/self", {}, { apiKey: key })).toMatchObject({ errors: [{ code: 1100 }] });
    // The daemon refuses it before all of it was sent.
    const long = { repo: "shop", "svc.domain": "x".repeat(30_000_000) };
    expect(await ask(home, "config/set", long)).toMatchObject({ errors: [{ code: 1107 }] });
    await expect(ask(home, "key/self", {}, { apiKey: "x\r\nHost: evil" })).rejects.toMatchObject({ code: 1100 });
  });

  test("goes to a home that is reached through a link", async () => {
    await using t = await startTestDaemon();
    await using folder = await temporaryFolder();
    await symlink(t.homeFolder, join(folder.path, "link"));
    expect(await ask(homeAt(join(folder.path, "link")), "key/self", {})).toMatchObject({ result: { name: "owner" } });
  });

  test.for<[what: string, plant: (impostor: Impostor) => Promise<unknown>, needsRoot?: true]>([
    ["a socket of another user", ({ path }) => chown(path, stranger, stranger), true],
    ["a folder of another user", ({ home }) => chown(home.socket, stranger, stranger), true],
    ["a home of another user", ({ home }) => chown(home.folder, stranger, stranger), true],
    ["a folder that others may enter", ({ home }) => chmod(home.socket, 0o755)],
    ["a folder that one's group may enter", ({ home }) => chmod(home.socket, 0o710)],
    ["a home that everybody may change", ({ home }) => chmod(home.folder, 0o777)],
    ["a parent folder that everybody may change", ({ home }) => chmod(dirname(home.folder), 0o777)],
    [
      "a link to a folder",
      async ({ home }) => {
        await rename(home.socket, `${home.socket}.real`);
        await symlink(`${home.socket}.real`, home.socket);
      },
    ],
    [
      "a link to a socket",
      async ({ path }) => {
        await rename(path, `${path}.real`);
        await symlink(`${path}.real`, path);
      },
    ],
    ["a regular file", ({ path }) => rm(path).then(() => writeFile(path, ""))],
    ["nothing", ({ path }) => rm(path)],
    ["no folder", ({ home }) => rm(home.socket, { recursive: true })],
  ])("is not sent into %s", async ([, plant, needsRoot], { skip }) => {
    skip(needsRoot === true && process.getuid?.() !== 0, "only root can give a file to another user");
    await using impostor = await startImpostor();
    await plant(impostor);
    await expect(ask(impostor.home, "config/list", { repo: "shop" })).rejects.toMatchObject({
      code: 1200,
      message: expect.stringMatching(/No key is sent .* because of .*REPOCONF_HOME.*repoconf restart/),
    });
    expect(impostor.connections).toBe(0);
  });

  test("takes only the socket's name from daemon.json", async () => {
    await using impostor = await startImpostor();
    await using t = await startTestDaemon();
    const { endpointFile } = homeAt(t.homeFolder);
    const endpoint = JSON.parse(await readFile(endpointFile, "utf8"));
    await writeFile(endpointFile, JSON.stringify({ ...endpoint, socket: impostor.path }));
    await expect(ask(homeAt(t.homeFolder), "key/self", {})).rejects.toMatchObject({ code: 1200 });
    expect(impostor.connections).toBe(0);
  });

  const half = `HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n{"result":null,"errors":[]}`;
  test.each<[what: string, answer: (socket: Socket) => void]>([
    ["closes the connection", socket => socket.destroy()],
    ["answers with half a header", socket => socket.end(half.slice(0, 20))],
    ["answers with half a body", socket => socket.end(half)],
    ["answers with something else", socket => socket.end("hello")],
    ["answers with another JSON", socket => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]")],
    ["answers without end", socket => void socket.pipe(socket)],
    ["does not answer", () => {}],
  ])("is never sent again to a daemon that %s, and its outcome is told", async (_what, answer) => {
    await using impostor = await startImpostor(answer);
    const set = { repo: "shop", edits: [{ field: "svc.proxy_aliases", op: "add", value: "a" }] } as const;
    await expect(ask(impostor.home, "config/set", set, { timeout: 300 })).rejects.toMatchObject({
      code: 1201,
      message: expect.stringMatching(/config\/set.*not known whether.*repoconf history/),
    });
    expect([impostor.connections, impostor.requests.length]).toEqual([1, 1]);
  });

  test("tells of a daemon that takes no such requests, of one that has ended, and of none", async () => {
    const answer = "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 32\r\n\r\nOnly GET and HEAD are supported.\n";
    await using older = await startImpostor(socket => socket.end(answer));
    await expect(ask(older.home, "key/self", {})).rejects.toMatchObject({
      code: 1200,
      message: expect.stringMatching(/0\.0\.1.*repoconf restart/),
    });
    const gone = await startImpostor();
    await using folder = await temporaryFolder();
    await rename(gone.home.folder, join(folder.path, "home"));
    await gone[Symbol.asyncDispose]();
    const stale = homeAt(join(folder.path, "home"));
    await expect(ask(stale, "key/self", {})).rejects.toMatchObject({
      code: 1200,
      message: expect.stringContaining("cannot be reached"),
    });
    await rm(stale.endpointFile);
    await expect(ask(stale, "key/self", {})).rejects.toMatchObject({
      code: 1200,
      message: expect.stringContaining("No daemon is running"),
    });
  });
});
