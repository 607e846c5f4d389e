/**
 * A double of the `electron` module, for tests of the desktop shell where Electron's runtime is not available. The shell's real
 * code runs against it; behind each `BrowserWindow` is a page of a real Chromium with the built preload. docs/desktop.md lists
 * what it cannot show: sandbox and isolated world, menus, tray and dialogs as the system draws them, the single-instance lock
 * between processes, fuses, loading from an asar, and the screen's own scheme, which Chromium alone cannot load. Instead, the
 * page has an http address, its files come from the shell's real handler, and the home's settings let its origin connect.
 */
import { EventEmitter } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page, Route } from "playwright-core";
import { openContext } from "./browser.ts";

/** What the shell did, and what the test answers for the person; one object for each started app. */
export type ElectronDouble = ReturnType<typeof prepareElectron>;

export interface AppDoubleOptions {
  readonly firstInstance?: boolean;
  /** Runs while the app starts, before it is ready. */
  readonly whileStarting?: (app: AppDouble) => void;
}

type NativeCall = (event: { senderFrame: unknown }) => unknown;
type SchemeHandler = (request: { readonly url: string; readonly method: string }) => Response | Promise<Response>;

/** The screen's own address, and its replacement in Chromium. */
const screenAddress = "repoconf-screen://app";
const standIn = "http://app.repoconf-screen.localhost";

const shown = (url: string) => (url.startsWith(`${screenAddress}/`) ? standIn + url.slice(screenAddress.length) : url);
const meant = (url: string) => (url.startsWith(`${standIn}/`) ? screenAddress + url.slice(standIn.length) : url);

/** Switches for its browser, which would otherwise ask a person whether a page without an address may reach the loopback. */
export const standInSwitches = ["--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets"];

/** Lets the replacement origin connect, as the daemon allows the scheme's origin. The home has no other settings. */
function allowStandIn(home: string): void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeFileSync(join(home, "settings.json"), JSON.stringify({ origins: [standIn] }));
}

export class SessionDouble {
  /** Undefined: the default partition. */
  readonly partition: string | undefined;
  readonly schemes = new Map<string, SchemeHandler>();
  readonly permissions: { request?: unknown; check?: unknown; device?: unknown } = {};
  readonly protocol = {
    handle: (scheme: string, handler: SchemeHandler) => void this.schemes.set(scheme, handler),
  };

  constructor(partition?: string) {
    this.partition = partition;
  }

  setPermissionRequestHandler = (request: unknown) => void Object.assign(this.permissions, { request });
  setPermissionCheckHandler = (check: unknown) => void Object.assign(this.permissions, { check });
  setDevicePermissionHandler = (device: unknown) => void Object.assign(this.permissions, { device });
}

type Named = { readonly [name: string]: unknown };

interface MenuItem {
  readonly label?: string;
  readonly role?: string;
  readonly checked?: boolean;
  readonly submenu?: readonly MenuItem[];
  click?(item: { checked: boolean }): void;
}

/** An event that its listeners may prevent. */
export function preventable() {
  const event = {
    isPrevented: false,
    preventDefault: () => {
      event.isPrevented = true;
    },
  };
  return event;
}

let current: ElectronDouble | undefined;
let browser: Browser | undefined;

/** Call before the shell is imported: sets what it will get, and the browser whose pages are its windows. */
export function prepareElectron(options: AppDoubleOptions & { readonly browser: Browser; readonly home: string }) {
  browser = options.browser;
  allowStandIn(options.home);
  const double = {
    app: new AppDouble(options),
    windows: [] as WindowDouble[],
    /** The dialogs, in order. */
    dialogs: [] as Question[],
    /** Returns the index of the button that the person presses. */
    answer: (_message: string) => 0,
    notifications: [] as NotificationDouble[],
    trays: [] as TrayDouble[],
    /** The order in which the shell used Electron. */
    calls: [] as string[],
    handlers: new Map<string, NativeCall>(),
    /** The default session first, then those of partitions. */
    sessions: [new SessionDouble()],
    /** The schemes registered before the app was ready. */
    schemes: [] as { readonly scheme: string; readonly privileges: { readonly [name: string]: boolean } }[],
  };
  current = double;
  return double;
}

function electron(): ElectronDouble {
  if (current === undefined) throw new Error("prepareElectron has not been called");
  return current;
}

export class AppDouble extends EventEmitter {
  readonly isPackaged = false;
  readonly #options: AppDoubleOptions;
  readonly #exit = Promise.withResolvers<number>();
  readonly exited = this.#exit.promise;

  constructor(options: AppDoubleOptions) {
    super();
    this.#options = options;
  }

  requestSingleInstanceLock(): boolean {
    electron().calls.push("lock");
    return this.#options.firstInstance ?? true;
  }

  setAppUserModelId(): void {}

  async whenReady(): Promise<void> {
    this.#options.whileStarting?.(this);
    electron().calls.push("ready");
  }

  getLoginItemSettings = () => ({ openAtLogin: false, wasOpenedAtLogin: false });
  setLoginItemSettings(): void {}

  /** As in Electron, any listener may prevent it. */
  quit(): void {
    electron().calls.push("quit");
    const event = preventable();
    this.emit("before-quit", event);
    if (!event.isPrevented) this.#exit.resolve(0);
  }

  exit(code: number): void {
    electron().calls.push("exit");
    for (const window of electron().windows) void window.destroy();
    this.#exit.resolve(code);
  }
}

export class WebContentsDouble extends EventEmitter {
  readonly mainFrame = { url: "" };
  readonly #window: WindowDouble;
  openHandler: (details: { url: string }) => { action: string } = () => ({ action: "allow" });

  constructor(window: WindowDouble) {
    super();
    this.#window = window;
  }

  setWindowOpenHandler(handler: WebContentsDouble["openHandler"]): void {
    this.openHandler = handler;
  }

  send(channel: string, ...args: unknown[]): void {
    const detail = JSON.stringify(args);
    void this.#window.page.then(page =>
      page.evaluate(`window.dispatchEvent(new CustomEvent("ipc ${channel}", { detail: ${detail} })); undefined`),
    );
  }
}

export class WindowDouble extends EventEmitter {
  readonly options: Named & { readonly webPreferences: Named & { preload: string; session: SessionDouble } };
  readonly webContents = new WebContentsDouble(this);
  readonly page: Promise<Page>;
  visible = false;
  #maximized = false;
  #loading = false;

  constructor(options: WindowDouble["options"]) {
    super();
    this.options = options;
    electron().windows.push(this);
    electron().calls.push("window");
    this.page = this.#open();
  }

  async #open(): Promise<Page> {
    if (browser === undefined) throw new Error("there is no browser");
    const context = await openContext(browser, { viewport: { width: 1280, height: 860 } });
    const page = await context.newPage();
    await page.exposeFunction("__invoke", (channel: string) => {
      const handler = electron().handlers.get(channel);
      if (handler === undefined) throw new Error(`no handler for ${channel}`);
      return handler({ senderFrame: this.webContents.mainFrame });
    });
    const preload = readFileSync(this.options.webPreferences.preload, "utf8");
    await page.addInitScript(
      `(() => {
        const require = name => {
          if (name !== "electron") throw new Error("a sandboxed preload has electron alone");
          return {
            contextBridge: { exposeInMainWorld: (key, value) => { window[key] = value; } },
            ipcRenderer: {
              invoke: channel => window.__invoke(channel),
              on: (channel, listener) => window.addEventListener("ipc " + channel, event => listener({}, ...event.detail)),
            },
          };
        };
        ${preload}
      })();`,
    );
    await page.route("**/*", async route => {
      const request = route.request();
      if (!request.isNavigationRequest()) return this.#load(route);
      const isMainFrame = request.frame() === page.mainFrame();
      const event = Object.assign(preventable(), { url: meant(request.url()), isMainFrame });
      // Electron asks before a page or a frame navigates by itself, but not when the shell loads a page.
      if (!this.#loading) this.webContents.emit(isMainFrame ? "will-navigate" : "will-frame-navigate", event);
      if (event.isPrevented) return route.abort("aborted");
      return this.#load(route);
    });
    context.on("page", other => {
      if (this.webContents.openHandler({ url: other.url() }).action === "deny") void other.close();
    });
    page.on("dialog", dialog => {
      const event = preventable();
      if (dialog.type() === "beforeunload") this.webContents.emit("will-prevent-unload", event);
      void (event.isPrevented ? dialog.accept() : dialog.dismiss()).catch(() => {});
    });
    page.once("close", () => {
      this.emit("closed");
      void context.close();
    });
    return page;
  }

  /** Handled by the window's session if the address replaces one of a custom scheme. */
  async #load(route: Route): Promise<void> {
    const request = route.request();
    const url = meant(request.url());
    const handler = this.options.webPreferences.session.schemes.get(new URL(url).protocol.slice(0, -1));
    if (handler === undefined) return route.continue();
    const answer = await handler({ url, method: request.method() });
    const body = Buffer.from(await answer.arrayBuffer());
    return route.fulfill({ status: answer.status, headers: Object.fromEntries(answer.headers), body });
  }

  async loadURL(url: string): Promise<void> {
    electron().calls.push("load");
    const page = await this.page;
    // Set when the load starts: the page's script runs before the load is complete.
    this.webContents.mainFrame.url = url;
    this.#loading = true;
    await page.goto(shown(url));
    this.#loading = false;
    this.emit("ready-to-show");
  }

  show(): void {
    this.visible = true;
  }

  hide(): void {
    this.visible = false;
  }

  focus(): void {}
  restore(): void {}
  isMinimized = () => false;
  isMaximized = () => this.#maximized;
  getNormalBounds = () => ({ x: 40, y: 30, width: 1000, height: 700 });

  maximize(): void {
    this.#maximized = true;
  }

  /** Closes the window as a person does. */
  close(): void {
    const event = preventable();
    this.emit("close", event);
    if (!event.isPrevented) void this.page.then(page => page.close({ runBeforeUnload: true }));
  }

  /** Closes the window without asking the page. */
  async destroy(): Promise<void> {
    await (await this.page).close();
  }
}

export class TrayDouble extends EventEmitter {
  items: readonly MenuItem[] = [];

  constructor() {
    super();
    electron().trays.push(this);
    electron().calls.push("tray");
  }

  setToolTip(): void {}
  destroy(): void {}

  setContextMenu({ items }: { items: readonly MenuItem[] }): void {
    this.items = items;
  }
}

export class NotificationDouble extends EventEmitter {
  readonly title: string;
  readonly body: string;

  constructor({ title, body }: { title: string; body: string }) {
    super();
    this.title = title;
    this.body = body;
  }

  show = () => void electron().notifications.push(this);
}

/** Forwards every use to the running app. */
export const app = new Proxy({} as AppDouble, {
  get(_target, name) {
    const { app: running } = electron();
    const member: unknown = Reflect.get(running, name);
    return typeof member === "function" ? member.bind(running) : member;
  },
});

export const ipcMain = {
  handle: (channel: string, handler: NativeCall) => void electron().handlers.set(channel, handler),
};

export const session = {
  get defaultSession(): SessionDouble | undefined {
    return electron().sessions[0];
  },
  fromPartition: (name: string) => {
    const made = new SessionDouble(name);
    electron().sessions.push(made);
    return made;
  },
};

export const protocol = {
  registerSchemesAsPrivileged: (schemes: ElectronDouble["schemes"]) => {
    electron().calls.push("scheme");
    electron().schemes.push(...schemes);
  },
};

interface Question {
  readonly message: string;
  readonly buttons: readonly string[];
}

function ask({ message, buttons }: Question): number {
  electron().dialogs.push({ message, buttons });
  return electron().answer(message);
}

export const dialog = {
  showMessageBox: async (question: Question) => ({ response: ask(question) }),
  showMessageBoxSync: (_window: WindowDouble, question: Question) => ask(question),
  showOpenDialog: async () => ({ filePaths: [] }),
  showErrorBox: (title: string, message: string) =>
    void electron().dialogs.push({ message: `${title}: ${message}`, buttons: [] }),
};

export const Menu = {
  buildFromTemplate: (items: readonly MenuItem[]) => ({ items }),
  setApplicationMenu: () => void electron().calls.push("menu"),
};

export const nativeImage = { createFromPath: (path: string) => ({ path }) };
export const screen = {
  getDisplayMatching: () => ({ workArea: { x: 0, y: 0, width: 1920, height: 1080 } }),
};
export const shell = { openExternal: async () => {} };
export { NotificationDouble as Notification, TrayDouble as Tray, WindowDouble as BrowserWindow };
