import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { addRepositories, addScope, addShop, makeServedHome, makeShop } from "../helpers/command-home.ts";
import { loadedBy, reportLoaded, sourcesIn } from "../helpers/report-loaded.ts";
import { projectFolder, runProcess } from "../helpers/spawned-daemon.ts";

/** The file of what V8 has compiled of the short way. */
const compiledName = `one-shot.js.${process.versions.v8}-${process.arch}`;

/** The paths of the HTTP requests that daemons of this process get while `work` runs. */
async function requestsDuring(work: () => Promise<unknown>): Promise<string[]> {
  const paths: string[] = [];
  const note = (message: unknown) => {
    const { request } = message as { readonly request: IncomingMessage };
    // A handshake of Socket.IO has a query with random parts.
    paths.push(request.url?.split("?")[0] ?? "");
  };
  subscribe("http.server.request.start", note);
  try {
    await work();
  } finally {
    unsubscribe("http.server.request.start", note);
  }
  return paths;
}

/** Commands that take the short way, with the operations that they ask for. */
const short: readonly (readonly [operations: string, ...args: string[]])[] = [
  ["config/list", "get", "svc.timeout"],
  ["config/list", "-C", ".", "get", "svc.timeout"],
  ["config/list", "get", "svc.timeout", "--repo", "shop", "--json"],
  ["config/list", "get", "svc.timeout", "svc.services.web.image", "--with-revision"],
  ["config/set", "set", "svc.timeout=31"],
  ["config/set", "set", "svc.envvars.PORT=8080", "svc.proxy_aliases+=a.test", "--reason", "a test", "--json"],
  ["config/set", "set", "--repo", "shop", "--dry-run", "svc.timeout=32"],
  ["config/set", "unset", "svc.timeout", "svc.envvars.PORT", "--atomic"],
  ["config/list", "env", "--format", "json"],
  ["config/list", "run", "--repo", "shop", "true", "--json"],
  ["scope/list", "describe", "svc.timeout"],
  ["repo/find config/list scope/list config/list", "list", "svc"],
  ["repo/list config/list scope/list", "list", "--repo", "shop", "--with-revision"],
  ["repo/find scope/list config/explain", "explain", "svc.timeout"],
  ["repo/find scope/list config/explain history/list", "explain", "svc.services.web.image", "--json"],
  ["repo/find scope/list history/list", "history", "--limit", "2"],
  ["repo/find history/list history/restore scope/list config/list", "undo"],
  ["repo/find history/list history/restore scope/list", "undo", "--dry-run", "--json"],
  ["scope/list", "complete", "--", "get", "svc.t"],
];

describe.runIf(process.platform !== "win32")("a command that is one request over the Unix socket", () => {
  const services = `svc.services={"web":{"ready":"","image":"node:25"}}`;

  test("sends exactly this one, or few, and makes no connection of Socket.IO", async () => {
    await using home = await makeShop([services]);
    for (const [operations, ...args] of short) {
      const expected = operations.split(" ").map(operation => `/svc/${operation}`);
      // Some are sent together.
      const requests = (await requestsDuring(() => home.succeed(args))).sort();
      expect(requests, args.join(" ")).toEqual(expected.sort());
    }
  });

  test("loads one file, with no library but the one that finds similar names, and few parts of Node", async () => {
    await using home = await makeShop([services]);
    for (const [, ...args] of short) {
      const { code, errorOutput } = await home.run(args, { nodeArguments: reportLoaded });
      expect(code).toBe(0);
      const { parts, files } = loadedBy(errorOutput);
      expect(parts).toEqual([]);
      expect(files).toEqual(["repoconf.js", "one-shot.js", compiledName]);
    }
    const sources = [...sourcesIn(["repoconf.js", "one-shot.js"])];
    expect(sources.filter(name => !/^(main|shared)\//.test(name))).toEqual(["fastest-levenshtein"]);
    expect(sources.filter(name => /^(main\/(daemon|store|scopes)|shared\/client\/client)/.test(name))).toEqual([]);
  });

  test("runs what V8 has compiled of this very file, and makes that where it is missing", async () => {
    await using home = await makeShop();
    const built = join(home.workFolder, "dist");
    await mkdir(built);
    for (const name of ["repoconf.js", "one-shot.js"])
      await copyFile(join(projectFolder, "dist", name), join(built, name));
    await writeFile(join(built, "package.json"), '{"type":"module"}');
    const compiled = join(built, compiledName);
    const get = async () => {
      const options = { folder: home.workFolder, environment: { REPOCONF_HOME: home.homeFolder } };
      return (await runProcess(process.execPath, [join(built, "repoconf.js"), "get", "svc.timeout"], options)).output;
    };
    expect(await get()).toBe("900\n");
    const first = await readFile(compiled);
    expect(await get()).toBe("900\n");
    expect(await readFile(compiled)).toEqual(first);
    expect((await readdir(built)).length).toBe(4);
    // Another build whose text is as long.
    const source = await readFile(join(built, "one-shot.js"), "utf8");
    const other = source.replaceAll('"config/list"', '"config/lisT"');
    const id = Number.parseInt(source.slice(-1), 16) === 0 ? "1" : "0";
    await writeFile(join(built, "one-shot.js"), `${other.slice(0, -1)}${id}`);
    const [request] = await requestsDuring(get);
    expect(request).toBe("/svc/config/lisT");
    expect(await readFile(compiled)).not.toEqual(first);
    // Where it cannot be made.
    await rm(compiled);
    await mkdir(compiled);
    await writeFile(join(built, "one-shot.js"), source);
    expect(await get()).toBe("900\n");
    // With the folder for the modules of the long way, which the refused request took.
    expect((await readdir(built)).length).toBe(5);
  });

  test.each<[why: string, ...args: string[]]>([
    ["a question for help", "get", "--help"],
    ["another folder, and one that does not exist", "-C", "./missing", "get", "svc.timeout"],
    ["an option that is not known", "get", "svc.timeout", "--colour"],
    ["an option that is given twice", "get", "svc.timeout", "--repo", "shop", "--repo", "shop"],
    ["an option without its value", "set", "svc.timeout=1", "--reason"],
    ["an empty option", "get", "svc.timeout", "--repo", ""],
    ["a revision that is none", "set", "svc.timeout=1", "--if-revision", "x"],
    ["no argument", "get"],
    ["no assignment", "set", "svc.timeout"],
    ["a format that is not known", "env", "--format", "xml"],
    ["a watch", "run", "--watch"],
    ["the completion of an option", "complete", "--", "get", "--"],
    ["a subcommand", "history", "forget"],
    ["an undo of several changes", "undo", "--to", "1", "--yes"],
    ["several repositories", "set", "svc.timeout=1", "--where", "", "--yes"],
  ])("takes the long way with %s, without a request on the short one", async (_why, ...args) => {
    await using home = await makeShop();
    expect((await requestsDuring(() => home.run(args))).filter(path => path.startsWith("/svc/"))).toEqual([]);
  });

  test("takes the long way with a daemon that is older, which is said once", async () => {
    await using home = await makeShop();
    const file = join(home.homeFolder, "daemon.json");
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), version: "0.0.1" }));
    let first = "";
    const requests = await requestsDuring(async () => {
      first = (await home.run(["get", "svc.timeout"])).errorOutput;
      expect(await home.succeed(["get", "svc.timeout"])).toBe("900\n");
    });
    expect(first).toContain("repoconf restart");
    expect(requests.filter(path => path.startsWith("/svc/"))).toEqual([]);
  });

  test("reports a set of which the outcome is not known, and does not send it again", async () => {
    await using home = await makeShop();
    let count = 0;
    const cut = (message: unknown) => {
      const { request } = message as { readonly request: IncomingMessage };
      if (!request.url?.startsWith("/svc/")) return;
      count += 1;
      request.socket.destroy();
    };
    subscribe("http.server.request.start", cut);
    try {
      await home.refuse(1, ["set", "svc.proxy_aliases+=a.test"], "not known whether the operation took effect");
    } finally {
      unsubscribe("http.server.request.start", cut);
    }
    expect(count).toBe(1);
  });

  test.each([
    ["not known whether the operation took effect", "/svc/history/restore"],
    ["The change was made, but the daemon does not answer", "/svc/scope/list"],
  ])("reports an undo of which it is %s, and does not make it again", async (said, path) => {
    await using home = await makeShop(["svc.timeout=31"], ["svc.timeout=32"]);
    const cut = (message: unknown) => {
      const { request } = message as { readonly request: IncomingMessage };
      if (request.url === path) request.socket.destroy();
    };
    subscribe("http.server.request.start", cut);
    try {
      const { errorOutput } = await home.run(["undo"]);
      expect(errorOutput).toContain(said);
    } finally {
      unsubscribe("http.server.request.start", cut);
    }
    const sources = (await home.json(["history"])).map(({ source }: { source: string }) => source);
    expect(sources.filter((source: string) => source === "restore").length).toBeLessThan(2);
    expect(await home.succeed(["get", "svc.timeout"])).toMatch(/^3[12]\n$/);
  });

  test("takes the long way to undo a change of several repositories", async () => {
    await using home = await makeShop();
    await addRepositories(home, "other");
    await home.succeed(["set", "svc.timeout=33", "--repo", "shop", "--repo", "other", "--yes"]);
    let output = "";
    const undo = async () => {
      output = await home.succeed(["undo"]);
    };
    expect(await requestsDuring(undo)).not.toContain("/svc/history/restore");
    expect(output).toContain("a change of 2 repositories");
  });
});

/** What a person may type, right and wrong. */
const typed: readonly (readonly string[])[] = [
  ["get", "svc.timeout"],
  ["get", "svc.timeout", "svc.domain", "--json", "--with-revision"],
  ["get", "svc.timeout", "--with-revision"],
  ["get", "svc.timeot"],
  ["get", "svc"],
  ["get", "svc.services.web.image"],
  ["get", "svc.services.web"],
  ["get", "svc.services.db"],
  ["get", "svc.envvars"],
  ["get", "svc.envvars.PORT"],
  ["get", "svc.envvars.PORT", "--reveal"],
  ["get", "svc.envvars", "--reveal", "--json"],
  ["get", "svc.timeout", "--repo", "other"],
  ["get", "svc.timeout", "--repo", "Other"],
  ["get", "svc.timeout", "--repo", "nowhere"],
  ["set", "svc.timeout=30"],
  ["set", "svc.timeout=30", "--json"],
  ["set", "svc.timeout=many"],
  ["set", "svc.timeout=1", "svc.refresh_day=9", "svc.domian=x"],
  ["set", "svc.timeout=1", "svc.refresh_day=9", "--atomic"],
  ["set", "svc.timeout=1", "svc.timeout=2"],
  ["set", "svc.timeot=1"],
  ["set", "svc.nothing.inside=1"],
  ["set", "svc.services.web.image=node:26", "svc.proxy_aliases+=a.test", "svc.proxy_aliases-=b.test"],
  ["set", "svc.services={"],
  ["set", "svc.services:={"],
  ["set", "svc.envvars.TOKEN=secret", "--json"],
  ["set", "svc.envvars-=TOKEN"],
  ["set", "app.note=null"],
  ["set", "app.note:=null"],
  ["set", "app.token=plain"],
  ["set", "svc.domain=@@at"],
  ["set", "svc.timeout=1", "--if-revision", "2"],
  ["set", "svc.timeout=77", "--dry-run"],
  ["set", "svc.timeout=77", "--repo", "shop", "--repo", "other", "--yes"],
  ["unset", "svc.timeout", "svc.refresh_day"],
  ["unset", "svc.envvars.PORT", "svc.services.db"],
  ["unset", "svc.timeot"],
  ["unset", "svc.timeout", "--json"],
  ["get", "svc.timeout", "--no-start"],
  ["describe"],
  ["describe", "svc.services", "--json"],
  ["describe", "svc.envvars"],
  ["describe", "app"],
  ["describe", "svc.timeot"],
  ["list"],
  ["list", "svc", "--json"],
  ["list", "svc.envvars", "--reveal"],
  ["list", "--stored"],
  ["list", "--with-revision", "--stored"],
  ["list", "--revision", "2"],
  ["list", "--revision", "999"],
  ["list", "app", "--repo", "other"],
  ["list", "svc.timeot"],
  ["list", "--repo", "Other"],
  ["explain", "svc.envvars"],
  ["explain", "svc.envvars.PORT", "--reveal"],
  ["explain", "svc.services.web.image", "--json"],
  ["explain", "svc.services.db"],
  ["explain", "svc.timeot"],
  ["explain", "svc.domain", "--repo", "other"],
  ["history"],
  ["history", "--limit", "2", "--json"],
  ["history", "--after", "3", "--reveal"],
  ["history", "svc.services.web.image"],
  ["history", "svc.timeot"],
  ["history", "app.note", "--repo", "other"],
  ["undo", "--dry-run"],
  ["undo", "--if-revision", "1"],
  ["undo", "--reason", "a test"],
  ["undo", "--json", "--atomic"],
  ["undo", "--repo", "other"],
  ["hook", "zsh", "--start"],
  ["hook", "tcsh"],
  ["env"],
  ["env", "--format", "pwsh", "--repo", "other"],
  ["set", "svc.envvars.BROKEN=it\\'s $HOME\r"],
  ["env", "--format", "dotenv"],
  ["env", "--format", "json"],
  ["set", "app.variable=also", "svc.envvars.APP=one"],
  ["env"],
  ["set", "app.variable:=null"],
  ["run", "sh", "-c", "echo $APP $1; exit 7", "name", "--json"],
  ["run", "--", "sh", "-c", "kill -TERM $$"],
  ["run", "--repo", "shop", "--", "no-such-command"],
  ["run", "--", "/dev/null"],
  ["complete", "--", "get", "svc.t"],
  ["complete", "--", "set", "svc.timeout=1", "svc.proxy"],
  ["complete", "--", "set", "svc.proxy_https="],
  ["complete", "--", "unset", "svc.envvars."],
  ["complete", "--", "unset", ""],
  ["complete", "--", "history", ""],
  ["complete", "--", "history", "svc.timeout", "svc."],
  ["complete", "--", "explain", "app"],
];

test("every command answers alike over the Unix socket and over the port", async () => {
  const outcomes = await Promise.all(
    [false, true].map(async isOnPort => {
      await using home = await addShop(await makeServedHome(isOnPort));
      await addRepositories(home, "other");
      await home.succeed(["repo", "update", "other", "--name", "Other"]).catch(() => "");
      await addScope(home, "app", {
        note: { type: ["string", "null"], default: "" },
        token: { type: "string", default: "", "x-secret": true },
        variable: { type: ["string", "null"], default: null, "x-env": "APP" },
      });
      await home.succeed(["set", `svc.services={"web":{"ready":"","image":"node:25"}}`, "svc.envvars.PORT=80"]);
      const told = [];
      const alike = (text: string) =>
        text
          .replaceAll(home.homeFolder, "HOME")
          .replaceAll(home.workFolder, "WORK")
          .replace(/[0-9a-f]{24}/g, "BATCH")
          // Only where there is a socket.
          .replace("__repoconf_checked=1", "__repoconf_checked=")
          .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME");
      for (const args of typed) {
        const { code, output, errorOutput } = await home.run(args);
        told.push({ args, code, output: alike(output), errorOutput: alike(errorOutput) });
      }
      return told;
    }),
  );
  expect(outcomes[0]).toEqual(outcomes[1]);
});
