import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { planOf } from "../../examples/preview/plan.ts";
import { addRepositories } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { git } from "../helpers/git.ts";
import { folderOfExample, startPreview } from "../helpers/preview-tool.ts";
import { runProcess } from "../helpers/spawned-daemon.ts";

const service = (image: string, ready = "") => `{"ready":"${ready}","image":"${image}"}`;

test("a linked worktree is previewed beside its base, a value of its own restarts only its service, and its end is told", async () => {
  await using t = await startPreview();
  const { home } = t;
  const work = await realpath(home.workFolder);
  const [folder, linked] = [join(work, "site"), join(work, "site-login")];
  await mkdir(folder);
  await git(folder, "init");
  await home.succeed(["repo", "add", folder, "--in-tree", "--id", "site"]);
  await home.succeed(["set", "svc.proxy_domain=site.test", `svc.services.web=${service("site:1")}`], { folder });
  await git(folder, "add", ".repoconf.json");
  await git(folder, "commit", "-m", "How the site runs");
  await t.untilServed("web.site.test", "site:1");
  await git(folder, "worktree", "add", linked);
  await home.succeed(["get", "svc.proxy_domain"], { folder: linked });
  const { id } = (await home.json(["repo", "list"])).find(({ base }: { base?: string }) => base === "site");

  const hostOf = { base: "web.site.test", linked: "web.site-login.site.test" };
  const first = await t.untilServed(hostOf.linked, "site:1");
  expect(first.variables).toEqual({ REPOCONF_SLOT: "1", REPOCONF_WORKTREE: "site-login" });
  const pidsOf = () => Promise.all([t.pidOf("repoconf-preview-web.site"), t.pidOf(`repoconf-preview-web.${id}`)]);
  const before = await pidsOf();
  await home.succeed(["set", "--local", "svc.envvars.WHO=login", "--reason", "try it"], { folder: linked });
  const isNew = async () => JSON.parse((await t.ask(hostOf.linked)).text || "{}").variables?.WHO === "login";
  await until(() => isNew().catch(() => false), "the worktree's own value");
  const after = await pidsOf();
  expect([after[0] === before[0], after[1] === before[1]]).toEqual([true, false]);
  expect((await t.untilServed(hostOf.base, "site:1")).variables).toEqual({});
  const page = await t.page();
  expect(page).toMatch(/<h2>site<\/h2>.*<h2>site@site-login<\/h2><p>Revision \d+ \(local\) by owner: try it/);

  await git(folder, "worktree", "remove", linked);
  await until(async () => (await t.ask(hostOf.linked)).status === 421, "the route to end");
  await until(async () => (await t.page()).includes("site@site-login was removed"), "its end to be told");
  expect(await t.page()).toContain(`nothing is at ${hostOf.linked}, site-login.site.test any more`);
  await until(
    () =>
      t
        .pidOf(`repoconf-preview-web.${id}`)
        .then(() => false)
        .catch(() => true),
    "its container to end",
  );
  expect(await t.pidOf("repoconf-preview-web.site")).toBe(before[0]);
});

test("of two repositories that claim one host, the first keeps it, and the page says which one has it until that gives it up", async () => {
  await using t = await startPreview();
  const { home } = t;
  // The list and the tool have it before the shop.
  await addRepositories(home, "a-copy");
  await t.killTool();
  t.startTool();
  const set = (repo: string, ...changes: string[]) => home.succeed(["set", "--repo", repo, ...changes]);
  await set("shop", "svc.proxy_domain=shop.test");
  await t.untilServed("web.shop.test", "node:24");
  await set(
    "a-copy",
    "svc.proxy_domain=shop.test",
    `svc.services.web=${service("copy:1")}`,
    "svc.proxy_aliases+=localhost",
  );
  const lost = "web.shop.test is not served here: shop has it already.";
  await until(async () => (await t.page()).includes(lost), "the lost host");
  await t.untilServed("shop.test", "node:24");
  await t.untilServed("web.shop.test", "node:24");
  expect(await t.page()).toMatch(/<h2>a-copy<\/h2>.*shop has it already.*<h2>shop<\/h2>(?!.*has it already)/);
  expect(await t.page()).toContain("localhost is not served here: this page has it already.");
  await set("shop", "svc.proxy_domain=other.test");
  await t.untilServed("web.shop.test", "copy:1");
  await t.untilServed("web.other.test", "node:24");
  expect(await t.page()).not.toContain(lost);
});

test("a container that has ended is started again, and an image that cannot be pulled keeps no other one from a refresh", async () => {
  await using t = await startPreview();
  await t.set(`svc.services.api=${service("own:1")}`);
  await t.untilServed("api.shop.localhost", "own:1");
  await t.untilServed("web.shop.localhost", "node:24");
  process.kill(await t.pidOf("repoconf-preview-web.shop"), "SIGKILL");
  await until(async () => (await t.ask("web.shop.localhost")).status === 502, "its end");
  t.hangUp();
  await t.untilServed("web.shop.localhost", "node:24");

  await t.pull("node:24", "unknown");
  await t.pull("own:1", "sha256:tomorrow");
  t.hangUp();
  const answer = async () => (await t.ask("api.shop.localhost").catch(() => ({ text: "" }))).text;
  await until(async () => (await answer()).includes("sha256:tomorrow"), "the new image");
  expect(await t.page()).toContain("no image node:24");
});

test("an engine that is not there is told on the page", async () => {
  await using t = await startPreview("--engine", "/no/engine");
  await until(async () => (await t.page()).includes("spawn /no/engine ENOENT"), "the problem");
});

test("that it cannot start is one line", async () => {
  const home = await mkdtemp(join(tmpdir(), "repoconf-none-"));
  const tool = join(folderOfExample, "preview.ts");
  const { code, errorOutput } = await runProcess(process.execPath, [tool], { environment: { REPOCONF_HOME: home } });
  expect({ code, errorOutput }).toEqual({ code: 1, errorOutput: expect.stringMatching(/^No daemon is running .*\n$/) });
  await rm(home, { recursive: true });
});

test("no two services have one container, and no name is one of JavaScript's own", () => {
  const svc = { proxy_aliases: [], proxy_domain: "", default: "", application: "constructor", timeout: 1 };
  const of = (id: string, name: string, ...services: string[]) =>
    planOf(
      { id, name },
      { ...svc, services: Object.fromEntries(services.map(one => [one, { ready: "", image: "a" }])) } as never,
      {},
    );
  const ids = [of("a", "a", "b-c"), of("a-b", "a-b", "c")].flatMap(({ services }) => services.map(one => one.id));
  expect(new Set(ids).size).toBe(2);
  const { routes, notes } = of("Id_1", "店", "web", "valueOf", "constructor");
  expect(notes).toEqual([]);
  expect(routes.map(([host]) => host)).toEqual([
    "web.id-1.localhost",
    "valueof.id-1.localhost",
    "constructor.id-1.localhost",
    "id-1.localhost",
  ]);
  expect(routes.at(-1)?.[1].service).toBe("repoconf-preview-constructor.Id_1");
});
