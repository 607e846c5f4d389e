import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { makeCommandHome } from "../helpers/command-home.ts";
import { connectClient, until } from "../helpers/daemon.ts";
import { codeOf, followLink, type TestSession } from "../helpers/open-socket.ts";
import { rawRequest } from "../helpers/raw-http.ts";
import { onTerminal, projectFolder, repoconfCommand, runRepoconf, spawnDaemon } from "../helpers/spawned-daemon.ts";

const builtScreen = resolve(projectFolder, "dist/screen");

/** Opens a session with a link as the page does; undefined if it is refused. */
async function follow(link: string): Promise<TestSession | undefined> {
  return followLink(link).catch(() => undefined);
}

let openers = 0;
/** A home with a daemon in the background. */
const home = await makeCommandHome();
afterAll(() => home[Symbol.asyncDispose]());
await home.succeed(["repo", "list", "--json"]);

/** A fake `xdg-open` that records what it is asked to open and then runs `ending`. */
async function makeOpener(ending = "") {
  const folder = join(home.workFolder, `opener${++openers}`);
  await mkdir(folder);
  const notes = join(folder, "notes.jsonl");
  const script = `#!${process.execPath}
const { appendFileSync, readFileSync, statSync } = require("node:fs");
const args = process.argv.slice(2);
const mode = statSync(args[0]).mode & 0o777;
appendFileSync(${JSON.stringify(notes)}, JSON.stringify({ args, mode, text: readFileSync(args[0], "utf8") }) + "\\n");
${ending}
`;
  await writeFile(join(folder, "xdg-open"), script, { mode: 0o755 });
  return {
    folder,
    /** With it as `xdg-open`. */
    environment: { PATH: `${folder}:${process.env["PATH"] ?? ""}`, DISPLAY: ":99" },
    /** The arguments of each call, and the mode and the text of the file that it was called with. */
    calls: async (): Promise<readonly { readonly args: string[]; readonly mode: number; readonly text: string }[]> => {
      const text = await readFile(notes, "utf8").catch(() => "");
      return text
        .split("\n")
        .filter(line => line !== "")
        .map(line => JSON.parse(line));
    },
  };
}

const linkIn = (text: string) => /http:\/\/[0-9a-f]{32}\.localhost:\d+\/#code=[\w.]+/.exec(text)?.[0] ?? "";
const noDisplay = { DISPLAY: "", WAYLAND_DISPLAY: "" };

describe("repoconf ui --print", () => {
  test("prints a link that works once", async () => {
    const output = await home.succeed(["ui", "--print"]);
    const { url } = await home.endpoint();
    expect(output).toMatch(
      new RegExp(`^http://[0-9a-f]{32}\\.localhost:${new URL(url).port}/#code=[0-9a-f]{12}\\.[0-9a-f]{64}\n$`),
    );
    const session = await follow(output.trim());
    const client = await connectClient(url, session);
    expect((await client.call("key/self")).result).toMatchObject({ name: "owner (browser)", kind: "session" });
    expect(await follow(output.trim())).toBeUndefined();
  });

  test("with --by-address the link is to a port of 127.0.0.1, and works too", async () => {
    const link = (await home.succeed(["ui", "--print", "--by-address"])).trim();
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#code=/);
    const { url } = await home.endpoint();
    expect(new URL(link).origin).not.toBe(url);
    expect((await fetch(new URL(link).origin)).headers.get("content-type")).toContain("text/html");
    const client = await connectClient(url, await follow(link));
    expect((await client.call("key/self")).errors).toEqual([]);
  });

  test("with a key that is not the owner's, fails and says so", async () => {
    const { key } = await home.json(["key", "create", "tool"]);
    await home.refuse(5, ["ui", "--print"], "Only the owner's key", { environment: { REPOCONF_API_KEY: key } });
  });
});

describe.skipIf(process.platform !== "linux")("repoconf ui", () => {
  test("opens the link through a private file; its code is neither in an argument nor in the output", async () => {
    const opener = await makeOpener();
    const output = await home.succeed(["ui"], { environment: opener.environment });
    expect(output).toBe("Opening the screen in your browser.\n");
    const [call] = await opener.calls();
    expect(call?.args).toEqual([expect.stringMatching(/[\\/]tmp[\\/]open-[0-9a-f]{12}\.html$/)]);
    expect(call?.mode).toBe(0o600);
    expect((await stat(join(home.homeFolder, "tmp"))).mode & 0o777).toBe(0o700);
    const link = linkIn(call?.text ?? "");
    const code = codeOf(link).secret;
    expect(code).toMatch(/^[0-9a-f]{64}$/);
    expect(call?.args.join(" ")).not.toContain(code);
    const session = await follow(link);
    expect(session).toBeDefined();

    const log = await readFile(join(home.homeFolder, "daemon.log"), "utf8").catch(() => "");
    for (const secret of [code, session?.secret ?? "none"]) expect(log).not.toContain(secret);
  });

  test("runs no program from the current folder, even if the PATH contains it", async () => {
    const { folder: opener } = await makeOpener();
    const environment = { PATH: `.:${process.env["PATH"] ?? ""}`, DISPLAY: ":99" };
    await home.run(["ui"], { folder: opener, environment, nodeArguments: onTerminal });
    expect((await readdir(opener)).sort()).toEqual(["xdg-open"]);
  });

  test("does not wait for a browser that keeps running", async () => {
    const opener = await makeOpener(
      `appendFileSync(${JSON.stringify(join(home.workFolder, "pid"))}, String(process.pid)); setInterval(() => {}, 1000);`,
    );
    try {
      expect(await home.succeed(["ui"], { environment: opener.environment })).toContain(
        "Opening the screen in your browser",
      );
    } finally {
      process.kill(Number(await readFile(join(home.workFolder, "pid"), "utf8")));
    }
  });

  test("two in a row do not delete each other's file", async () => {
    const opener = await makeOpener();
    await home.succeed(["ui"], { environment: opener.environment });
    await home.succeed(["ui"], { environment: opener.environment });
    for (const { args, text } of await opener.calls()) {
      expect(await readFile(args[0] ?? "", "utf8")).toBe(text);
      expect(await follow(linkIn(text))).toBeDefined();
    }
  });

  test.each<[title: string, ending: string | undefined]>([
    ["there is no display", undefined],
    ["what opens pages fails", "process.exit(3);"],
  ])("prints the link and leaves no file behind where %s", async (_title, ending) => {
    const opener = await makeOpener(ending);
    const environment = ending === undefined ? { ...opener.environment, ...noDisplay } : opener.environment;
    const left = async () => (await readdir(join(home.homeFolder, "tmp"))).filter(name => name.startsWith("open-"));
    const before = await left();
    const output = await home.succeed(["ui"], { environment, nodeArguments: onTerminal });
    expect(output).toContain("Could not open a browser");
    expect(await follow(linkIn(output))).toBeDefined();
    expect(await left()).toEqual(before);
    expect(await opener.calls()).toHaveLength(ending === undefined ? 0 : 1);
  });

  test("prints no link if its output is not a terminal, and says how to get one", async () => {
    const { errorOutput, ...rest } = await home.run(["ui"], { environment: noDisplay });
    expect(rest).toEqual({ code: 1, output: "" });
    expect(errorOutput).toContain("repoconf ui --print");
    expect(linkIn(errorOutput)).toBe("");
  });

  test("starts a daemon if none runs, but not with --no-start", async () => {
    await using home = await makeCommandHome();
    await home.refuse(4, ["ui", "--no-start"], "No daemon is running", { environment: noDisplay });
    expect((await home.run(["ui"], { environment: noDisplay, nodeArguments: onTerminal })).code).toBe(0);
    expect((await home.endpoint()).pid).toBeGreaterThan(0);
  });
});

test("sessions on the command line are listed with the keys and revoked by id; an ambiguous name is refused", async () => {
  await using home = await makeCommandHome();
  const open = async () => follow((await home.succeed(["ui", "--print"])).trim());
  const sessions = [await open(), await open()];
  const list = await home.succeed(["key", "list"]);
  expect(list.match(/owner \(browser\).*after 12 hours without use/g)).toHaveLength(2);
  await home.refuse(1, ["key", "revoke", "owner (browser)"], "names 2 keys or sessions");
  const { url } = await home.endpoint();
  const clients = await Promise.all(sessions.map(session => connectClient(url, session)));
  const ids = await Promise.all(clients.map(async client => (await client.call("key/self")).result.id));
  await home.succeed(["key", "revoke", ids[0] ?? ""]);
  await until(() => clients[0]?.socket.connected === false, "the end of the first session");
  expect((await clients[1]?.call("key/self"))?.errors).toEqual([]);
  await home.succeed(["key", "revoke", "owner (browser)"]);
  await until(() => clients[1]?.socket.connected === false, "the end of the second session");
});

describe("the link that repoconf daemon prints", () => {
  test("creates one session, which ends with the daemon; its code is in no arguments, and neither it nor its secret in the log", async () => {
    await using home = await makeCommandHome();
    const first = await spawnDaemon(["--port", "0", "--log-level", "debug"], home.homeFolder, onTerminal);
    const link = linkIn(first.output());
    expect(first.output()).toContain(`Screen ${link}`);
    expect(new URL(link).port).toBe(new URL(first.url).port);
    if (process.platform === "linux") {
      const read = (id: string) => readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "");
      const lines = (await Promise.all((await readdir("/proc")).map(read))).join("\n");
      expect(lines).toContain(repoconfCommand);
      expect(lines).not.toContain(codeOf(link).secret);
    }
    const session = await follow(link);
    expect(session).toBeDefined();
    expect(await follow(link)).toBeUndefined();
    await first.end("SIGTERM");
    for (const secret of [codeOf(link).secret, session?.secret ?? "none"])
      expect(first.errorOutput()).not.toContain(secret);

    await using second = await spawnDaemon(["--port", "0"], home.homeFolder);
    await expect(connectClient(second.url, session)).rejects.toMatchObject({ data: { code: 1100 } });
    await expect(connectClient(second.url, codeOf(link))).rejects.toMatchObject({ data: { code: 1100 } });
  });

  test("is printed on a terminal only; a file or the system's journal gets the command that opens the screen", async () => {
    await using daemon = await spawnDaemon();
    expect(daemon.output()).toContain(`Screen repoconf ui --home "${daemon.homeFolder}"`);
    expect(daemon.output() + daemon.errorOutput()).not.toContain("#code=");
  });

  test("is not printed by a daemon in the background, whose output nobody reads", async () => {
    expect(await readFile(join(home.homeFolder, "daemon.log"), "utf8")).not.toContain("#code=");
  });
});

test("the screen as it was built is served by the built daemon: every file that the page loads, byte for byte, and nothing inline", async () => {
  await using daemon = await spawnDaemon(undefined, undefined, onTerminal);
  const host = `Host: ${new URL(linkIn(daemon.output())).host}`;
  const { headers, body } = await rawRequest(daemon.url, "/", { headers: [host] });
  const [, nonce] = /'nonce-([^']+)'/.exec(headers.get("content-security-policy") ?? "") ?? [];
  expect(body).toContain(`nonce="${nonce}"`);
  const named = [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? "");
  expect(named.length).toBeGreaterThan(1);
  for (const path of named) {
    expect(path).toMatch(/^\/[^/]/);
    expect((await rawRequest(daemon.url, path, { headers: [host] })).status).toBe(200);
  }
  // The Content Security Policy allows no inline scripts and styles.
  expect(body).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
  // Byte for byte, every file of it.
  const { output } = await runRepoconf(["ui", "--print", "--by-address", "--home", daemon.homeFolder]);
  const { origin } = new URL(output);
  const entries = await readdir(builtScreen, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter(one => one.isFile() && one.name !== "index.html")) {
    const path = join(entry.parentPath, entry.name);
    const answer = await fetch(`${origin}/${relative(builtScreen, path).replaceAll("\\", "/")}`);
    expect(answer.status).toBe(200);
    expect(Buffer.from(await answer.arrayBuffer()).equals(await readFile(path))).toBe(true);
  }
});
