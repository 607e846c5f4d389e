import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { request as secureRequest } from "node:https";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeCommandHome } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { freePort } from "../helpers/free-port.ts";
import { folderOfExample, startPreview } from "../helpers/preview-tool.ts";

test("the example is a tool of under 400 lines", async () => {
  const files = await readdir(folderOfExample);
  const texts = await Promise.all(files.map(name => readFile(join(folderOfExample, name), "utf8")));
  expect(texts.join("").split("\n").length).toBeLessThan(400);
});

test("it serves each service at its hosts with its variables, whatever one of them does, and refuses every other host", async () => {
  await using t = await startPreview();
  const { variables, host } = await t.untilServed("web.shop.localhost", "node:24");
  expect({ variables, host }).toEqual({ variables: { TOKEN: "hunter2" }, host: "web.shop.localhost" });
  expect(await t.calls()).not.toContain("hunter2");

  await t.set(`svc.services.api={"ready":"","image":"api:1"}`, "--reason", "an API");
  await t.untilServed("api.shop.localhost", "api:1");
  const aliases = [
    "svc.default=web",
    "svc.proxy_domain=shop.test",
    "svc.proxy_aliases+=www.shop.test",
    "svc.proxy_subpath_map=true",
  ];
  await t.set(...aliases);
  for (const name of ["shop.test", "www.shop.test", "WWW.shop.test.", `web.shop.test:${t.port}`])
    await t.untilServed(name, "node:24");
  expect(JSON.parse((await t.ask("shop.test", "/api/items?q=1")).text)).toMatchObject({
    image: "api:1",
    url: "/items?q=1",
  });
  expect((await t.ask("shop.test", "/api", { Connection: "Upgrade", Upgrade: "test" })).text).toBe("upgraded");
  for (const name of ["web.shop.localhost", "evil.test", "127.0.0.1", "shop.test.evil.test"])
    expect((await t.ask(name)).status, name).toBe(421);

  const page = await t.page();
  expect(page).toContain("sha256:api:1");
  expect(page).toContain("api.shop.test");
  await t.set(`svc.services.x={"ready":"","image":"--privileged"}`, "--reason", "<b>");
  await until(async () => (await t.page()).includes("x is not started"), "the refused image");
  expect(await t.page()).toMatch(/Revision \d+ by owner: &#60;b&#62;/);
  expect(await t.calls()).not.toContain("--privileged");

  // A service that answers oddly, or dies while it answers, and a check that never ends stop nothing else.
  expect((await t.ask("web.shop.test", "/odd")).status).toBe(502);
  await expect(t.ask("web.shop.test", "/dies")).rejects.toThrow("aborted");
  const never = ["svc.timeout=1", `svc.services.never={"ready":"sleep 30","image":"n:1"}`];
  await t.set(...never);
  await until(async () => (await t.page()).includes("not ready after 1 seconds"), "the end of the check");
  await t.untilServed("web.shop.test", "node:24");
});

test("a typo by hand keeps serving, undo brings a route back, a change restarts only what it touches, and kills lose none", async () => {
  await using t = await startPreview();
  await t.untilServed("web.shop.localhost", "node:24");
  await t.set(`svc.services.api={"ready":"","image":"api:1"}`);
  await t.untilServed("api.shop.localhost", "api:1");
  const pid = await t.pidOf("repoconf-preview-web.shop");

  const file = join(t.home.homeFolder, "repos/shop.json");
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace('"api:1"', '"api:2'));
  await until(async () => (await t.page()).includes('class="note"'), "the problem of the file");
  await t.untilServed("api.shop.localhost", "api:1");
  await writeFile(file, text.replace('"api:1"', '"api:2"'));
  await t.untilServed("api.shop.localhost", "api:2");

  await t.home.succeed(["unset", "--repo", "shop", "svc.services.api"]);
  await until(async () => (await t.ask("api.shop.localhost")).status === 421, "the route to go");
  await t.home.succeed(["undo", "--repo", "shop", "--yes"]);
  await t.untilServed("api.shop.localhost", "api:2");
  expect(await t.pidOf("repoconf-preview-web.shop")).toBe(pid);

  // A killed daemon and a killed tool lose no change.
  const daemon = await t.home.endpoint();
  process.kill(daemon.pid, "SIGKILL");
  await until(async () => (await t.home.run(["status"])).code !== 0, "the daemon to be gone");
  await t.set("svc.services.web.image=node:25");
  await t.untilServed("web.shop.localhost", "node:25");

  await t.killTool();
  await t.set(`svc.services.api={"ready":"","image":"api:3"}`);
  const before = await t.pidOf("repoconf-preview-web.shop");
  t.startTool();
  await t.untilServed("api.shop.localhost", "api:3");
  await t.untilServed("web.shop.localhost", "node:25");
  expect(await t.pidOf("repoconf-preview-web.shop")).toBe(before);
});

test("a pull with a new image waits for a person, and a refresh takes the new image of the same name", async () => {
  await using t = await startPreview();
  const folder = join(t.home.workFolder, "site");
  await mkdir(folder);
  const textWith = (image: string) =>
    `{ "config": { "svc": { "services": { "web": { "ready": "", "image": "${image}" } } } } }`;
  await writeFile(join(folder, ".repoconf.json"), textWith("node:24"));
  await t.home.succeed(["repo", "add", folder, "--id", "site"]);
  await until(
    async () => (await t.page()).includes("svc.services tells tools what to run, and no person"),
    "what waits",
  );
  expect((await t.ask("web.site.localhost")).status).toBe(421);
  const [waiting] = await t.home.json(["trust", "--repo", "site"]);
  await t.home.succeed(["trust", "--repo", "site", "--accept", waiting.hash]);
  await t.untilServed("web.site.localhost", "node:24");
  await writeFile(join(folder, ".repoconf.json"), textWith("evil:1"));
  await until(
    async () => (await t.page()).includes("svc.services tells tools what to run, and no person"),
    "what waits again",
  );
  await t.untilServed("web.site.localhost", "node:24");

  await t.pull("node:24", "sha256:tomorrow");
  t.hangUp();
  const isNew = async () => (await t.ask("web.site.localhost")).text.includes("sha256:tomorrow");
  await until(isNew, "the new image");
});

test("HTTP is redirected to HTTPS, which has the certificate that it was given", async () => {
  const home = await makeCommandHome();
  const [cert, key] = [join(home.workFolder, "cert.pem"), join(home.workFolder, "key.pem")];
  const options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost".split(" ");
  execFileSync("openssl", [...options, "-keyout", key, "-out", cert], { stdio: "ignore" });
  const securePort = await freePort();
  await using t = await startPreview("--cert", cert, "--key", key, "--https-port", String(securePort));
  await t.untilServed("web.shop.localhost", "node:24");
  await t.set("svc.proxy_https=true", "svc.proxy_https_redirect=true");
  const location = `https://web.shop.localhost:${securePort}/a?b=1`;
  await until(async () => (await t.ask("web.shop.localhost", "/a?b=1")).location === location, "the redirect");
  const status = await new Promise((resolve, reject) =>
    secureRequest({ port: securePort, headers: { Host: "web.shop.localhost" }, rejectUnauthorized: false }, response =>
      resolve(response.resume().statusCode),
    )
      .on("error", reject)
      .end(),
  );
  expect(status).toBe(200);
  await home[Symbol.asyncDispose]();
});
