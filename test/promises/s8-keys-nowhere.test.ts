import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { launchBrowser, openContext } from "../helpers/browser.ts";
import { makeCommandHome } from "../helpers/command-home.ts";
import { connectClient } from "../helpers/daemon.ts";
import { filesBelow } from "../helpers/home-files.ts";
import { judge } from "../helpers/promise.ts";
import { runRepoconf, spawnDaemon } from "../helpers/spawned-daemon.ts";

const browser = await launchBrowser();
afterAll(() => browser?.close());

/** Repeatedly reads the arguments of all processes on this machine until `finish`. Without /proc it sees nothing. */
function watchArguments(): { finish(): Promise<ReadonlySet<string>> } {
  const seen = new Set<string>();
  let done = false;
  const watching = (async () => {
    while (!done) {
      const names = await readdir("/proc").catch((): string[] => []);
      const numbers = names.filter(name => /^\d+$/.test(name));
      for (const text of await Promise.all(
        numbers.map(pid => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
      ))
        seen.add(text);
      await delay(15);
    }
  })();
  return {
    finish: async () => {
      done = true;
      await watching;
      return seen;
    },
  };
}

// Without a browser, the addresses that a page requests are missing.
const without = browser === undefined ? " (no Chromium: without a page of the screen)" : "";

test(`S8 keys appear nowhere: not in output, logs, addresses, arguments or files of a full run, except in the one answer${without}`, async () => {
  await using home = await makeCommandHome();
  const watched = watchArguments();
  /** The output of each command. */
  const said: { readonly command: string; readonly text: string }[] = [];
  const failed: string[] = [];
  const run = async (args: readonly string[], environment: { readonly [name: string]: string } = {}) => {
    // Each in a process of its own, whose arguments are watched.
    const { code, output, errorOutput } = await runRepoconf(args, {
      folder: home.workFolder,
      environment: { REPOCONF_HOME: home.homeFolder, ...environment },
    });
    // The doctor finds fault with a daemon that a busy machine lets answer late.
    if (code !== 0 && args[0] !== "doctor") failed.push(args.slice(0, 2).join(" "));
    said.push({ command: args.join(" "), text: output + errorOutput });
    return output;
  };
  let keyOf: string;
  const codes: string[] = [];
  const sessions: string[] = [];
  let ownerKey: string;
  let secret: string;
  const addresses: string[] = [];
  {
    await using daemon = await spawnDaemon(["--port", "0", "--log-level", "debug"], home.homeFolder);
    ownerKey = daemon.ownerKey;
    secret = JSON.parse(await readFile(join(home.homeFolder, "daemon.json"), "utf8")).instanceSecret;
    keyOf = /repoconf_\w{12}_[\w-]{43}/.exec(await run(["key", "create", "tool", "--right", "write"]))?.[0] ?? "";
    const toolFile = join(home.workFolder, "tool.key");
    await writeFile(toolFile, `${keyOf}\n`, { mode: 0o600 });
    await mkdir(join(home.workFolder, "shop"));
    await run(["repo", "add", "shop", "--id", "shop"]);
    await run(["set", "svc.timeout=5", "--repo", "shop", "--json"]);
    const commands = [
      ["list", "--repo", "shop", "--key-file", toolFile],
      ["get", "svc.timeout", "--repo", "shop"],
      ["set", "svc.nope=5", "--repo", "shop"],
      ["history", "--repo", "shop"],
      ["explain", "svc.timeout", "--repo", "shop"],
      ["key", "list"],
      ["key", "list", "--json"],
      ["status"],
      ["status", "--json"],
      ["doctor"],
      ["doctor", "--json"],
      ["endpoint"],
      ["endpoint", "--json"],
      ["settings"],
      ["scope", "list"],
      ["backup", "backup.tar.gz"],
      ["list", "--repo", "shop", "--key-file", "nowhere"],
    ];
    await Promise.all(commands.map(command => run(command)));
    await run(["list", "--repo", "shop"], { REPOCONF_API_KEY: keyOf });
    // Wrong keys must not be printed either: they may be valid elsewhere, or wrong by one letter.
    await run(["list", "--repo", "shop"], { REPOCONF_API_KEY: `${keyOf.slice(0, -1)}~` });
    await run(["ui"], { DISPLAY: "", WAYLAND_DISPLAY: "" });
    const link = /http:\S+#code=\S+/.exec(await run(["ui", "--print"]))?.[0] ?? "";
    for (const { text } of said) codes.push(...[...text.matchAll(/#code=\w+\.(\w+)/g)].map(([, code = ""]) => code));
    if (browser !== undefined) {
      const context = await openContext(browser);
      const page = await context.newPage();
      page.on("request", request => addresses.push(`${request.url()} ${request.headers()["referer"] ?? ""}`));
      page.on("websocket", socket => addresses.push(socket.url()));
      await page.goto(link);
      await page.getByRole("tree", { name: "Repositories" }).waitFor();
      sessions.push(await page.evaluate<string>("JSON.stringify(sessionStorage)"));
      addresses.push(page.url());
      await context.close();
    }
    const owner = await connectClient(daemon.url, ownerKey);
    const made = await owner.call("session/create", { label: "desktop" });
    sessions.push(`${made.result.id}.${made.result.secret}`);
    await owner.call("key/create", { name: "wrong", grants: "none" });
    owner.socket.close();
    for (const path of ["/metrics", "/"]) {
      for (const key of [ownerKey, keyOf])
        await (await fetch(daemon.url + path, { headers: { Authorization: `Bearer ${key}` } })).text();
    }
    await connectClient(daemon.url, `${ownerKey.slice(0, -1)}~`).catch(() => {});
    await run(["key", "revoke", "tool"]);
    await run(["stop"]);
    said.push({ command: "daemon", text: daemon.output() + daemon.errorOutput() });
  }
  // In the background, where the log is a file.
  await run(["set", "svc.timeout=6", "--repo", "shop"]);
  await run(["restart"]);
  await run(["doctor"]);
  await run(["stop"]);
  const seen = await watched.finish();

  const secretOf = (key: string) => key.slice(-43);
  const sessionSecrets = sessions.flatMap(text => /\w{12}\.([0-9a-f]{64})/.exec(text)?.[1] ?? []);
  const secrets: readonly (readonly [name: string, text: string])[] = [
    ["the owner's key", secretOf(ownerKey)],
    ["a tool's key", secretOf(keyOf)],
    // Without the last letter, as in the wrong keys.
    ["the owner's key, wrong by a letter", secretOf(ownerKey).slice(0, -1)],
    ["the instance's secret", secret],
    ...sessionSecrets.map(text => ["a session's secret", text] as const),
    ...codes.map(code => ["a code", code] as const),
  ];
  const found: string[] = [];
  let places = 0;
  const search = (place: string, text: string, allowed: readonly string[] = []) => {
    places++;
    for (const [name, part] of secrets)
      if (text.includes(part) && !allowed.includes(name)) found.push(`${name} in ${place}`);
  };
  for (const { command, text } of said) {
    // These commands may print it, because they exist to show it.
    if (command.startsWith("key create")) search(command, text, ["a tool's key"]);
    else if (command.startsWith("ui")) search(command, text, ["a code"]);
    else search(command, text);
  }
  const ofOwner = ["the owner's key", "the owner's key, wrong by a letter"];
  for (const [path, text] of Object.entries(await filesBelow(home.workFolder))) {
    if (join(home.workFolder, path) === join(home.homeFolder, "owner.key")) search(path, text, ofOwner);
    else if (path.endsWith("tool.key")) search(path, text, ["a tool's key"]);
    else search(path, text);
  }
  for (const text of seen) search(`the arguments ${text.replaceAll("\0", " ")}`, text);
  for (const address of addresses) search(`the address ${address}`, address);
  judge("S8", places, found, `places that were searched for ${secrets.length} secrets`);
  // The secrets really existed; otherwise the search would prove nothing.
  expect(failed.sort()).toEqual(["list --repo", "list --repo", "set svc.nope=5", "ui"]);
  expect(keyOf).toMatch(/^repoconf_/);
  expect(codes.length).toBeGreaterThan(0);
  expect(sessionSecrets.length).toBe(browser === undefined ? 1 : 2);
  if (process.platform === "linux") expect([...seen].some(text => text.includes("repoconf.js"))).toBe(true);
});
