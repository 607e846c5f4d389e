import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BrowserWindow, dialog, type Rectangle, type Session, screen, type WebFrameMain } from "electron";
import type { ScreenLink } from "../../shared/shell-bridge.ts";
import type { Home } from "../home.ts";
import { closedPreferences, denyNavigation, isScreen } from "./lockdown.ts";
import { screenUrl } from "./own-screen.ts";

interface AppWindowOptions {
  readonly home: Home;
  /** Where the screen is served. */
  readonly partition: Session;
  readonly preload: string;
}

interface Place {
  readonly bounds: Rectangle;
  readonly maximized: boolean;
}

const firstSize = { width: 1280, height: 860 };
const leastSize = { minWidth: 720, minHeight: 480 };
/** Milliseconds that a page may take to send its edits: one that hangs, or has no connection, is asked about them. */
const sendCeiling = 2_000;

/** The only window: it remembers its position, and closing only hides it, because the daemon keeps running. */
export class AppWindow {
  readonly #options: AppWindowOptions;
  readonly #placeFile: string;
  #window: BrowserWindow | undefined;
  #firstLink: ScreenLink | undefined;
  #quitting = false;
  /** Called when the person stays for edits that are not saved. */
  #onStay = () => {};
  /** Called when the page has sent its edits. */
  #onSent = () => {};

  constructor(options: AppWindowOptions) {
    this.#options = options;
    this.#placeFile = join(options.home.folder, "desktop.json");
  }

  /** Makes the window and loads the screen, which is the app's own. */
  async open(link?: ScreenLink): Promise<void> {
    const place = await this.#readPlace();
    const window = new BrowserWindow({
      ...firstSize,
      ...place?.bounds,
      ...leastSize,
      show: false,
      title: "Repoconf",
      webPreferences: { ...closedPreferences, session: this.#options.partition, preload: this.#options.preload },
    });
    this.#window = window;
    denyNavigation(window.webContents);
    if (place?.maximized) window.maximize();
    window.once("ready-to-show", () => window.show());
    window.on("close", event => {
      void this.#writePlace(window);
      if (this.#quitting) return;
      event.preventDefault();
      window.hide();
    });
    window.on("closed", () => {
      this.#window = undefined;
    });
    // The page has unsaved edits. Electron itself asks nobody; it just does not close the page.
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
      // What is prevented is that the page stays.
      if (choice === 0) event.preventDefault();
      else this.#onStay();
    });
    this.#firstLink = link;
    await window.loadURL(screenUrl);
  }

  /** Brings the window to the front, and to where a link leads. */
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

  /** Tells the screen what a menu item asks for. */
  send(command: "add" | "save"): void {
    this.show();
    this.#window?.webContents.send("command", command);
  }

  /** Whether the frame is this window's own page: only that may call what is native. */
  owns(frame: WebFrameMain | null): boolean {
    if (frame === null || this.#window === undefined) return false;
    return frame === this.#window.webContents.mainFrame && isScreen(frame.url);
  }

  /** The link that the window was opened for, when its page is ready to follow it; once. */
  takeFirstLink(): ScreenLink | undefined {
    const link = this.#firstLink;
    this.#firstLink = undefined;
    return link;
  }

  /** Closes the window for good. False if the person stays for edits that are not saved. */
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

  /** The page has sent its edits to the daemon. */
  readyToLeave(): void {
    this.#onSent();
  }

  /** Waits until the daemon has the page's edits, that nobody is asked about them. */
  async #sendEdits(window: BrowserWindow): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onSent = resolve;
    window.webContents.send("leave");
    const ceiling = setTimeout(resolve, sendCeiling);
    await promise;
    clearTimeout(ceiling);
  }

  #navigate(link: ScreenLink): void {
    this.#window?.webContents.send("navigate", link);
  }

  async #readPlace(): Promise<Place | undefined> {
    try {
      // Written below; whatever else stands there is checked by what the displays say.
      const place = JSON.parse(await readFile(this.#placeFile, "utf8")) as Place;
      const { x, y, width, height } = place.bounds;
      const { workArea } = screen.getDisplayMatching({ x, y, width, height });
      // The display that it stood on may be gone.
      const visible =
        x < workArea.x + workArea.width &&
        y < workArea.y + workArea.height &&
        x + width > workArea.x &&
        y >= workArea.y - 20;
      return visible ? place : undefined;
    } catch {
      return undefined;
    }
  }

  async #writePlace(window: BrowserWindow): Promise<void> {
    const place: Place = { bounds: window.getNormalBounds(), maximized: window.isMaximized() };
    // The position of a window is not worth an error.
    await writeFile(this.#placeFile, JSON.stringify(place), { mode: 0o600 }).catch(() => {});
  }
}
