import { app } from "electron";
import type { ScreenLink } from "../../shared/shell-bridge.ts";
import { deepLinkIn } from "../desktop/deep-link.ts";
import type { AppWindow } from "./app-window.ts";

/**
 * Hears who asks for the window: a link, or another start of the app. To be made before anything is waited for: macOS hands
 * over the link that the app was started by before it is ready, and another start may come while the daemon is starting.
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

  /** From now on requests go to this window. Returns the newest one that came before. */
  serve(window: AppWindow): { readonly link: ScreenLink | undefined } | undefined {
    this.#window = window;
    return this.#waiting;
  }

  #open(link: ScreenLink | undefined): void {
    if (this.#window === undefined) this.#waiting = { link };
    else this.#window.show(link);
  }
}
