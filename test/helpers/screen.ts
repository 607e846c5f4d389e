import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Locator, Page, WebSocketRoute } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished } from "vitest";
import type { JsonValue } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import { launchBrowser, openContext } from "./browser.ts";
import { startTestDaemon, type TestDaemon, until } from "./daemon.ts";
import { freePort } from "./free-port.ts";
import { homesFolder } from "./homes-in-memory.ts";
import { patience } from "./patience.ts";
import { titleWith } from "./skips.ts";
import { writeRepositoryFiles } from "./slow-disk.ts";
import { projectFolder } from "./spawned-daemon.ts";
import { temporaryFolder } from "./temporary-folder.ts";

// One browser per worker, whose test files share this module; it ends with the worker's process.
const browser: Browser | undefined = await launchBrowser();

export const screenFolder = join(projectFolder, "dist/screen");

/** Tests in a real browser; skipped, with a note in the title, where none can be launched. */
export function describeScreen(title: string, define: () => void): void {
  const isThere = browser !== undefined;
  describe.skipIf(!isThere)(titleWith(isThere, "Chromium", title), define);
}

export type Fields = { readonly [path: string]: JsonValue };

/** A daemon with a temporary home that serves the built screen. */
export type TestScreen = Awaited<ReturnType<typeof startScreen>>;

export interface TestScreenOptions {
  /** The ids of the initial repositories, each with its stored fields: those of one set, or of several. */
  readonly repositories?: { readonly [id: string]: Fields | readonly Fields[] };
  /** The ids of further repositories, whose files are there before the daemon starts: adding many would take long. */
  readonly files?: readonly string[];
  /** Schemas of scopes besides svc, by name. */
  readonly scopes?: { readonly [scope: string]: object };
  /** The shared log of the home, as in the settings. */
  readonly log?: { readonly address: string; readonly machine: string; readonly replicas?: number };
  /** The ids of repositories with a work tree that has their values in its `.repoconf.json`, as if somebody had cloned it. */
  readonly clones?: { readonly [id: string]: object };
  /** Keeps the home's path and the daemon's port. */
  readonly samePort?: boolean;
}

export async function startScreen(options: TestScreenOptions = {}) {
  const { repositories = {}, files = [], scopes = {}, clones = {}, log } = options;
  const folder = await temporaryFolder(homesFolder);
  const home = join(folder.path, "home");
  const schemas = Object.entries(scopes).map(([name, schema]) => [`scopes/${name}.schema.json`, schema] as const);
  const written = { ...Object.fromEntries(schemas), ...(log !== undefined && { "settings.json": { log } }) };
  await writeRepositoryFiles(home, files);
  const port = options.samePort === true ? await freePort() : 0;
  const t = await startTestDaemon({ home, screenFolder, port, files: written });
  const set = async (repo: string, fields: Fields, flush = true) => {
    const { errors } = await t.owner.call("config/set", { repo, flush, ...fields });
    if (errors.length > 0) throw new Error(JSON.stringify(errors));
  };
  const add = async (id: string, stored: Fields | readonly Fields[]) => {
    await t.owner.call("repo/add", { id, name: id });
    const sets = [stored].flat();
    for (const [at, fields] of sets.entries())
      if (Object.keys(fields).length > 0) await set(id, fields, at === sets.length - 1);
  };
  for (const [id, stored] of Object.entries(repositories)) await add(id, stored);
  const treeOf = (id: string) => join(folder.path, id);
  const pull = (id: string, config: object) =>
    writeFile(join(treeOf(id), ".repoconf.json"), JSON.stringify({ config }));
  for (const [id, config] of Object.entries(clones)) {
    await mkdir(treeOf(id));
    await pull(id, config);
    await t.owner.call("repo/add", { id, name: id, path: treeOf(id), inTree: true });
  }
  return {
    t,
    /** Adds a repository with these stored fields: those of one set, or of several. */
    add,
    /** Sets fields like a tool, and waits until the file has them. */
    set,
    /** Writes the values into the work tree of a clone, as if somebody had pulled them. */
    pull,
    drafts: async () => (await t.owner.call("draft/list")).result,
    /** A page with its own session. */
    open: (pageOptions?: PageOptions) => openPage(t.daemon.createLink(60_000), pageOptions),
    /** The stored value of a field, or the stored fields of a scope; undefined: none. */
    stored: async (repo: string, path: string): Promise<JsonValue | undefined> => {
      const { result } = await t.owner.call("config/list", { repo, stored: true });
      const [scope = "", field] = path.split(".");
      return field === undefined ? result[scope] : result[scope]?.[field];
    },
    revision: async (repo: string) => (await t.owner.call("config/list", { repo })).revision ?? 0,
    [Symbol.asyncDispose]: async () => {
      await t[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** A page with a daemon of its own. */
export type OpenScreen = ScreenPage & { readonly screen: TestScreen };

export interface OpenScreenOptions extends Omit<TestScreenOptions, "repositories"> {
  readonly page?: PageOptions;
}

/** Starts a daemon with these repositories, and opens a page. Both end with the test. */
export async function openScreen(
  repositories: TestScreenOptions["repositories"] & object,
  options: OpenScreenOptions = {},
): Promise<OpenScreen> {
  const window = await openLasting(repositories, options);
  onTestFinished(() => window[Symbol.asyncDispose]());
  return window;
}

async function openLasting(
  repositories: TestScreenOptions["repositories"] & object,
  { page, ...options }: OpenScreenOptions,
): Promise<OpenScreen> {
  await using opened = new AsyncDisposableStack();
  const screen = opened.use(await startScreen({ repositories, ...options }));
  const window = opened.use(await screen.open(page));
  const kept = opened.move();
  return { ...window, screen, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

export interface OpenShopOptions extends OpenScreenOptions {
  readonly others?: TestScreenOptions["repositories"] & object;
}

/** The same with the repository shop and others; the page shows shop. */
export async function openShop(
  shop: Fields | readonly Fields[] = {},
  { others, ...options }: OpenShopOptions = {},
): Promise<OpenScreen> {
  const window = await openScreen({ shop, ...others }, options);
  await window.choose("shop");
  return window;
}

/** A page that shows a repository which only one test uses. */
export type OwnShop = OpenScreen & {
  readonly repo: string;
  /** The stored value of one of its fields, or the stored fields of a scope; undefined: none. */
  stored(path: string): Promise<JsonValue | undefined>;
  /** Sets fields like a tool, and waits until the file has them. */
  set(fields: Fields): Promise<void>;
};

/** A daemon and a page that the tests of a group share. Each calls the returned function, to get a repository of its own. */
export function shareScreen({
  others = {},
  ...options
}: OpenShopOptions = {}): (shop?: Fields | readonly Fields[]) => Promise<OwnShop> {
  let shared: OpenScreen | undefined;
  let count = 0;
  beforeAll(async () => {
    if (browser !== undefined) shared = await openLasting(others, options);
  });
  afterAll(() => shared?.[Symbol.asyncDispose]());
  return async (shop = {}) => {
    if (shared === undefined) throw new Error("the screen has not been opened");
    const { screen } = shared;
    if ((await shared.page.getByRole("dialog").count()) > 0) await press(shared.page, "Escape");
    // The edits of the test before go with its repository.
    if (count > 0) await screen.t.owner.call("repo/remove", { repo: `shop${count}` });
    count += 1;
    const repo = `shop${count}`;
    await screen.add(repo, shop);
    await shared.row(repo).waitFor();
    // By its address, because a click on its row keeps the view of the test before.
    await shared.goTo(`#/repo/${repo}`);
    await shared.page.getByRole("heading", { level: 1, name: repo, exact: true }).waitFor();
    // A filter of the test before goes on here, once the fields are shown.
    await shared.page.getByRole("searchbox", { name: "Filter fields" }).waitFor();
    const whole = shared.page.getByRole("button", { name: "Show all fields" });
    if ((await whole.count()) > 0) await whole.click();
    return { ...shared, repo, stored: path => screen.stored(repo, path), set: fields => screen.set(repo, fields) };
  };
}

/** Fills the storage of drafts: the daemon rejects further ones. */
export async function fillDrafts(t: TestDaemon, repo: string): Promise<void> {
  const empty = { repo, field: "svc.f0", value: "" };
  const value = "x".repeat(limits.draftBytes / 5 - JSON.stringify(empty).length);
  for (let at = 0; at < 5; at++) {
    const { errors } = await t.owner.call("draft/set", { drafts: [{ ...empty, field: `svc.f${at}`, value }] });
    if (errors.length > 0) throw new Error(JSON.stringify(errors));
  }
}

/** What the browser complains about when the daemon is gone. */
export const connectionLost = /WebSocket|ERR_CONNECTION|Failed to load/;

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  /** Complaints of the browser that are allowed, such as when the daemon is gone. */
  readonly expected?: RegExp;
  /** A script that runs in the page before its own. */
  readonly initialScript?: string;
  /** Operations whose requests wait until the test releases them. */
  readonly hold?: readonly string[];
  /** A browser with different switches, instead of the test file's. */
  readonly browser?: Browser | undefined;
}

/** One page of the screen. Its disposal fails if the browser complained about anything, such as the page's policy or an error. */
export type ScreenPage = Awaited<ReturnType<typeof openPage>>;

/** Logs each violation of the page's policy; runs before the page's own script. */
const logViolations = `addEventListener("securitypolicyviolation", event => {
  console.error("violates the policy: " + event.violatedDirective + " " + event.blockedURI + " " + event.sample);
});`;

export async function openPage(url: string, options: PageOptions = {}) {
  const launched = options.browser ?? browser;
  if (launched === undefined) throw new Error("there is no browser");
  const { width = 1280, height = 800 } = options;
  const permissions = ["clipboard-read", "clipboard-write"];
  const context = await openContext(launched, { viewport: { width, height }, permissions });
  await context.addInitScript(`${logViolations}${options.initialScript ?? ""}`);
  const page = await context.newPage();
  const complaints: string[] = [];
  const complain = (text: string) => {
    if (options.expected?.test(text) !== true) complaints.push(text);
  };
  page.on("pageerror", error => complain(`page error: ${error.message}`));
  page.on("console", message => {
    if (message.type() === "error" || message.type() === "warning") complain(`console: ${message.text()}`);
  });
  const requests = await holdRequests(page, options.hold ?? []);
  await page.goto(url);
  const tree = page.getByRole("tree", { name: "Repositories" });
  const row = (name: string) => tree.getByRole("treeitem", { name: new RegExp(`^${escapeRegExp(name)}(\\s|$)`) });
  const field = (title: string) => page.getByRole("region", { name: title, exact: true });
  const edits = field("Edits");
  const text = page.getByRole("textbox", { name: "Text of the file" });
  const startSaving = () => edits.getByRole("button", { name: "Save", exact: true }).click();
  return {
    page,
    /** The browser's complaints so far. */
    complaints: complaints as readonly string[],
    /** Of the operations to hold. */
    requests,
    tree,
    /** The rows of the tree whose accessible name starts with this name; marks and values may follow. */
    row,
    /** The section of the field with this title. */
    field,
    /** Expands the control of a field that takes more than one line. */
    expand: (title: string) =>
      field(title)
        .getByRole("button", { name: new RegExp(`^${escapeRegExp(title)}:`), expanded: false })
        .click(),
    /** The controls of two fields of the svc scope: a number and a text. */
    timeout: page.getByRole("spinbutton", { name: "Timeout" }),
    provider: page.getByRole("textbox", { name: "Provider" }),
    /** The bar with the edits that are not saved. */
    edits,
    messages: page.getByRole("log", { name: "Messages" }),
    /** The details of the focused field. */
    inspector: page.getByRole("complementary", { name: "About the field" }),
    /** The history of the repository, newest first, and the editor of its file. */
    history: page.getByRole("region", { name: "History" }),
    text,
    /** The part of the address that says what the page shows. */
    hash: () => new URL(page.url()).hash,
    /** Shows what has this address. */
    goTo: (hash: string) => goTo(page, hash),
    /** Shows a repository by clicking its row, and waits for it. */
    choose: async (repository: string) => {
      await row(repository).click();
      await page.getByRole("heading", { level: 1, name: repository }).waitFor();
    },
    view: async (title: "Fields" | "History" | "JSON") => {
      const views = page.getByRole("navigation", { name: "Views of this repository" });
      await views.getByRole("link", { name: new RegExp(`^${title}`) }).click();
    },
    /** Types at the end of the line with this name in the file's text, after pressing the keys there. */
    typeAfter: async (name: string, typed: string, ...keys: readonly string[]) => {
      await text.getByText(`"${name}"`).click();
      // An editor on a slow page may take the key before the click.
      await poll(async () => {
        await press(page, "End");
        return page.evaluate<boolean>(isAtEndOfLine);
      }).toBe(true);
      await press(page, ...keys);
      await page.keyboard.type(typed);
    },
    /** Saves the edits without a reason and waits until they are saved. */
    save: async () => {
      await startSaving();
      await edits.waitFor({ state: "detached" });
    },
    /** Saves without waiting for the outcome. */
    startSaving,
    /** Opens the review of the edits. */
    review: async () => {
      await edits.getByRole("button", { name: "Review" }).click();
      return page.getByRole("dialog", { name: "Review edits" });
    },
    /** The element with the focus, as `role name`. */
    focused: () => page.evaluate<string>(describeFocus),
    [Symbol.asyncDispose]: async () => {
      await context.close();
      expect(complaints).toEqual([]);
    },
  };
}

/** Holds the page's requests for these operations from its next connection on, to simulate a daemon as slow as the test needs. */
async function holdRequests(page: Page, operations: readonly string[]) {
  const asked: string[] = [];
  const held: ((change: (message: string) => string) => void)[] = [];
  let isHolding = true;
  const route = (socket: WebSocketRoute) => {
    const server = socket.connectToServer();
    socket.onMessage(message => {
      const [, resource = "", operation = ""] = /^42\d+\["svc","(\w+)","(\w+)"/.exec(String(message)) ?? [];
      const name = `${resource}/${operation}`;
      if (!operations.includes(name)) return server.send(message);
      asked.push(name);
      if (!isHolding) return server.send(message);
      held.push(change => server.send(change(String(message))));
    });
  };
  if (operations.length > 0) await page.routeWebSocket(/socket\.io/, route);
  const release = (change = (message: string) => message) => {
    for (const send of held.splice(0)) send(change);
  };
  return {
    /** How often the page has requested the operation so far. */
    asked: (operation: string) => asked.filter(name => name === operation).length,
    /** Waits until a request is held. */
    untilHeld: () => until(() => held.length > 0, `a request for ${operations.join(" or ")}`),
    /** Releases the held requests, modified by `change`, and holds the following ones. */
    release,
    /** Releases them, and holds none from now on. */
    releaseAll: () => {
      isHolding = false;
      release();
    },
  };
}

/** Counts the person's mouse presses and key presses, a chord as one, in `window.actions`. Runs in the page before its own script. */
export const countActions = `window.actions = { clicks: 0, keys: 0 };
addEventListener("pointerdown", () => { window.actions.clicks += 1; }, true);
addEventListener("keydown", event => {
  if (!["Alt", "Control", "Meta", "Shift"].includes(event.key)) window.actions.keys += 1;
}, true);`;

/** Whether nothing follows the caret in its line of a text. */
const isAtEndOfLine = `(() => {
  const { focusNode: node, focusOffset: offset } = getSelection();
  const line = (node instanceof Element ? node : node?.parentElement)?.closest(".cm-line");
  if (!line) return false;
  const rest = document.createRange();
  rest.setStart(node, offset);
  rest.setEnd(line, line.childNodes.length);
  return rest.toString() === "";
})()`;

const describeFocus = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return "body";
  const role = element.getAttribute("role") ?? element.tagName.toLowerCase();
  const name = element.getAttribute("aria-label") ?? element.textContent ?? "";
  return role + " " + name.replace(/\\s+/g, " ").trim();
})()`;

/** Shows what has this address, once the page shows anything. */
export async function goTo(page: Page, hash: string): Promise<void> {
  await page.getByRole("tree", { name: "Repositories" }).waitFor();
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
}

/** Reads until the value is as expected; a failure shows the last value. */
export function poll<Value>(read: () => Value | Promise<Value>) {
  return expect.poll(read, { timeout: patience, interval: 50 });
}

/** Waits until the text of an element contains this. */
export async function reads(locator: Locator, text: string | RegExp): Promise<void> {
  await poll(() => locator.innerText()).toMatch(typeof text === "string" ? new RegExp(escapeRegExp(text)) : text);
}

/** Everything that is in the page, shown or not: its elements with their attributes, and the texts of its controls. */
export async function inPage(page: Page): Promise<string> {
  const typed = await page.evaluate<string[]>(
    `[...document.querySelectorAll("input, textarea")].map(one => one.value)`,
  );
  return [await page.content(), ...typed].join("\n");
}

/** Whether the control shows dots in place of its text. */
export async function isCovered(control: Locator): Promise<boolean> {
  return control.evaluate(element => {
    const style = element.ownerDocument.defaultView?.getComputedStyle(element);
    return style?.getPropertyValue("-webkit-text-security") === "disc";
  });
}

/** Waits until the daemon knows the scope. */
export async function untilScope(t: TestDaemon, wanted: string): Promise<void> {
  const isThere = async () => (await t.owner.call("scope/list")).result.some(({ scope }) => scope === wanted);
  await until(isThere, `the scope ${wanted}`);
}

/**
 * Presses keys in sequence, each once the open dialog has the focus: a dialog is visible a moment before, and a key that comes
 * sooner goes to the page behind it.
 */
export async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    await page.waitForFunction(dialogHasFocus);
    await page.keyboard.press(key);
  }
}

/** Presses Escape, and waits until what was shown is gone. */
export async function dismiss(shown: Locator): Promise<void> {
  await press(shown.page(), "Escape");
  await shown.waitFor({ state: "detached" });
}

/** Runs in the page. A list that belongs to a dialog stands beside it. */
const dialogHasFocus = `(() => {
  const dialog = [...document.querySelectorAll('[role="dialog"], [role="alertdialog"]')].at(-1);
  const focused = document.activeElement;
  return dialog === undefined || dialog.contains(focused) || focused.closest('[role="listbox"], [role="menu"]') !== null;
})()`;

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
