import { app } from "electron";
import type { ScreenLink } from "../../shared/shell-bridge.ts";
import { deepLinkIn } from "../desktop/deep-link.ts";
import type { AppWindow } from "./app-window.ts";

/**
 * Listens for requests to open the window: a link, or a second start of the app. Create it before the first await: macOS delivers the
 * link that started the app before the app is ready, and a second start may happen while the daemon is starting.
 */
export class OpenRequests {
  #window: AppWindow | undefined;
  #waiting: { readonly link: ScreenLink | undefined } | undefined;

  constructor() {
    app.on("second-instance", (_event, argv) => this.#open(deepLinkIn(argv)));
    app.on("open-url", (event, url) => {
      event.preventDefault();
      this.#open(deepLinkIn([url]));
    });
  }

  /** Sends requests to this window from now on. Returns the newest earlier one. */
  serve(window: AppWindow): { readonly link: ScreenLink | undefined } | undefined {
    this.#window = window;
    return this.#waiting;
  }

  #open(link: ScreenLink | undefined): void {
    if (this.#window === undefined) this.#waiting = { link };
    else this.#window.show(link);
  }
}
