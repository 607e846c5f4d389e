import type { Page } from "playwright-core";

/** What a scenario needs of a started app, be it on the double or on Electron's real runtime. */
export interface DesktopApp extends AsyncDisposable {
  /** The page in the app's window. */
  page(): Promise<Page>;
  windowIsVisible(): Promise<boolean>;
  /** As the person closes it. */
  closeWindow(): Promise<void>;
  /** Another start of the app, with these arguments; it hands them over and leaves. */
  startAgain(args: readonly string[]): Promise<void>;
  /** As "Quit" in the tray. */
  quit(): Promise<void>;
  /** Resolves with the exit code. */
  readonly exited: Promise<number>;
  /** The options that the window's page was really made with. */
  webPreferences(): Promise<{ readonly [name: string]: unknown }>;
  /** How often the person was asked something, and what. */
  questions(): Promise<readonly string[]>;
}

export interface DesktopDriver {
  /** For the titles of the tests. */
  readonly name: string;
  start(home: string, args?: readonly string[]): Promise<DesktopApp>;
}
