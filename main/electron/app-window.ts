import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BrowserWindow, dialog, type Rectangle, type Session, screen, type WebFrameMain } from "electron";
import type { ScreenLink } from "../../shared/shell-bridge.ts";
import type { Home } from "../home/home.ts";
import { denyNavigation, isScreen, securePreferences } from "./lockdown.ts";
import { screenUrl } from "./own-screen.ts";

interface AppWindowOptions {
  readonly home: Home;
  /** The partition that serves the screen. */
  readonly partition: Session;
  readonly preload: string;
}

interface WindowState {
  readonly bounds: Rectangle;
  readonly maximized: boolean;
}

const firstSize = { width: 1280, height: 860 };
const minimumSize = { minWidth: 720, minHeight: 480 };
/** Milliseconds that the page may take to send its edits. If it hangs or has no connection, the user is asked about them. */
const sendTimeout = 2_000;

/** The only window: it remembers its position, and closing only hides it, because the daemon keeps running. */
export class AppWindow {
  readonly #options: AppWindowOptions;
  readonly #stateFile: string;
  #window: BrowserWindow | undefined;
  #firstLink: ScreenLink | undefined;
  /** Whether the page listens for links: one that is sent sooner would be lost. */
  #pageListens = false;
  #quitting = false;
  /** Called when the user stays because of unsaved edits. */
  #onStay = () => {};
  /** Called when the page has sent its edits. */
  #onSent = () => {};

  constructor(options: AppWindowOptions) {
    this.#options = options;
    this.#stateFile = join(options.home.folder, "desktop.json");
  }

  /** Creates the window and loads the app's own screen. */
  async open(link?: ScreenLink): Promise<void> {
    // Read at once, so that there is a window before anybody else asks for one.
    const state = this.#readState();
    const window = new BrowserWindow({
      ...firstSize,
      ...state?.bounds,
      ...minimumSize,
      show: false,
      title: "Repoconf",
      webPreferences: { ...securePreferences, session: this.#options.partition, preload: this.#options.preload },
    });
    this.#window = window;
    denyNavigation(window.webContents);
    if (state?.maximized) window.maximize();
    window.once("ready-to-show", () => window.show());
    window.on("close", event => {
      void this.#writeState(window);
      if (this.#quitting) return;
      event.preventDefault();
      window.hide();
    });
    window.on("closed", () => {
      this.#window = undefined;
    });
    // The page has unsaved edits. Electron shows no dialog of its own; it just does not close the page.
    window.webContents.on("will-prevent-unload", event => {
      window.show();
      const choice = dialog.showMessageBoxSync(window, {
        type: "question",
        message: "You have unsaved edits.",
        detail: "They will be lost if you leave.",
        buttons: ["Leave without saving", "Stay"],
        defaultId: 1,
        cancelId: 1,
      });
      // Preventing this event makes the page unload.
      if (choice === 0) event.preventDefault();
      else this.#onStay();
    });
    this.#firstLink = link;
    this.#pageListens = false;
    await window.loadURL(screenUrl);
  }

  /** Brings the window to the front, and follows the link if there is one. */
  show(link?: ScreenLink): void {
    if (this.#window === undefined) {
      void this.open(link);
      return;
    }
    if (this.#window.isMinimized()) this.#window.restore();
    this.#window.show();
    this.#window.focus();
    if (link !== undefined) this.#navigate(link);
  }

  /** Sends a menu item's command to the screen. */
  send(command: "add" | "save"): void {
    this.show();
    this.#window?.webContents.send("command", command);
  }

  /** Whether the frame is this window's own page, the only one that may make native calls. */
  owns(frame: WebFrameMain | null): boolean {
    if (frame === null || this.#window === undefined) return false;
    return frame === this.#window.webContents.mainFrame && isScreen(frame.url);
  }

  /** The link with which the window was opened, or that came while its page was loading. Returned once, when the page is ready to follow it. */
  takeFirstLink(): ScreenLink | undefined {
    const link = this.#firstLink;
    this.#firstLink = undefined;
    this.#pageListens = true;
    return link;
  }

  /** Closes the window instead of hiding it. False if the user stays because of unsaved edits. */
  async leave(): Promise<boolean> {
    const window = this.#window;
    if (window === undefined) return true;
    await this.#sendEdits(window);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    window.once("closed", () => resolve(true));
    this.#onStay = () => resolve(false);
    this.#quitting = true;
    window.close();
    this.#quitting = await promise;
    return this.#quitting;
  }

  /** Called by the page once it has sent its edits to the daemon. */
  readyToLeave(): void {
    this.#onSent();
  }

  /** Waits until the daemon has the page's edits, so that the user is not asked about them. */
  async #sendEdits(window: BrowserWindow): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onSent = resolve;
    window.webContents.send("leave");
    const timer = setTimeout(resolve, sendTimeout);
    await promise;
    clearTimeout(timer);
  }

  #navigate(link: ScreenLink): void {
    if (this.#pageListens) this.#window?.webContents.send("navigate", link);
    else this.#firstLink = link;
  }

  #readState(): WindowState | undefined {
    try {
      // The shape is not validated: anything wrong throws, or fails the check against the displays.
      const state = JSON.parse(readFileSync(this.#stateFile, "utf8")) as WindowState;
      const { x, y, width, height } = state.bounds;
      const { workArea } = screen.getDisplayMatching({ x, y, width, height });
      // The display may have been disconnected.
      const visible =
        x < workArea.x + workArea.width &&
        y < workArea.y + workArea.height &&
        x + width > workArea.x &&
        y >= workArea.y - 20;
      return visible ? state : undefined;
    } catch {
      return undefined;
    }
  }

  async #writeState(window: BrowserWindow): Promise<void> {
    const state: WindowState = { bounds: window.getNormalBounds(), maximized: window.isMaximized() };
    // The position of a window is not worth an error.
    await writeFile(this.#stateFile, JSON.stringify(state), { mode: 0o600 }).catch(() => {});
  }
}
