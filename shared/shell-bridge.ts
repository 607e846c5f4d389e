/** The target of a link: `field` is `<scope>.<field>`. */
export interface ScreenLink {
  readonly repo: string;
  readonly field?: string;
}

/** The scheme and origin of the screen in the desktop app's window. No web page can have this origin. */
export const desktopScheme = "repoconf-screen";
export const desktopOrigin = `${desktopScheme}://app`;

/** Where the daemon is, and this window's session there. */
export interface ShellSession {
  readonly url: string;
  readonly id: string;
  /** Hexadecimal; used for proofs and never sent. */
  readonly secret: string;
}

/** What the desktop app's screen may ask of the app, as the preload script offers it. */
export interface ShellBridge {
  /** The session of this window with the running daemon. */
  session(): Promise<ShellSession>;
  /** A folder that the person chooses; undefined if they cancel. */
  chooseFolder(): Promise<string | undefined>;
  /** The link that the app was started with; returned once. */
  firstLink(): Promise<ScreenLink | undefined>;
  /** Called when a link is followed while the app runs. */
  onNavigate(listener: (link: ScreenLink) => void): void;
  /** Called when a menu item asks the screen to do something. */
  onCommand(listener: (command: "add" | "save") => void): void;
  /** Called when the app is about to quit. It waits for the listener, but not for long. */
  onLeave(listener: () => Promise<void>): void;
}
