/** Where a link leads: `field` is `<scope>.<field>`. */
export interface ScreenLink {
  readonly repo: string;
  readonly field?: string;
}

/** The scheme by which the desktop app's window loads its own screen, and that page's origin: no web page has it. */
export const desktopScheme = "repoconf-screen";
export const desktopOrigin = `${desktopScheme}://app`;

/** Where the daemon is, and this window's session there. */
export interface ShellSession {
  readonly url: string;
  readonly id: string;
  /** Hexadecimal; it is proven and never sent. */
  readonly secret: string;
}

/** What the desktop app's screen may ask of the shell around it, as the preload offers it in the page. */
export interface ShellBridge {
  /** The session of this window with the daemon that runs now. */
  session(): Promise<ShellSession>;
  /** A folder that the person chooses; undefined: none. */
  chooseFolder(): Promise<string | undefined>;
  /** The link that the app was started with, once. */
  firstLink(): Promise<ScreenLink | undefined>;
  /** A link was followed while the app ran. */
  onNavigate(listener: (link: ScreenLink) => void): void;
  /** A menu item asks for something that the screen does. */
  onCommand(listener: (command: "add" | "save") => void): void;
  /** The app is about to quit: it waits for what the listener sends, though not for long. */
  onLeave(listener: () => Promise<void>): void;
}
