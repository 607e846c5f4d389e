import type { Page } from "playwright-core";

/** What a scenario needs from a started app, whether on the test double or on Electron's real runtime. */
export interface DesktopApp extends AsyncDisposable {
  /** The page in the app's window. */
  page(): Promise<Page>;
  windowIsVisible(): Promise<boolean>;
  /** Closes the window as a person does. */
  closeWindow(): Promise<void>;
  /** Starts the app again with these arguments; the second instance passes them on and exits. */
  startAgain(args: readonly string[]): Promise<void>;
  /** Quits as "Quit" in the tray does. */
  quit(): Promise<void>;
  /** Resolves with the exit code. */
  readonly exited: Promise<number>;
  /** The options with which the window's page was actually created. */
  webPreferences(): Promise<{ readonly [name: string]: unknown }>;
  /** The questions that the person was asked. */
  questions(): Promise<readonly string[]>;
}

export interface DesktopDriver {
  /** For the titles of the tests. */
  readonly name: string;
  start(home: string, args?: readonly string[]): Promise<DesktopApp>;
}
