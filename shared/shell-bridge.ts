/** Where a link leads: `field` is `<scope>.<field>`. */
export interface ScreenLink {
  readonly repo: string;
  readonly field?: string;
}

/** What the desktop app's screen may ask of the shell around it, as the preload offers it in the page. */
export interface ShellBridge {
  /** The key of this window's session. */
  session(): Promise<string>;
  /** A folder that the person chooses; undefined: none. */
  chooseFolder(): Promise<string | undefined>;
  /** The link that the app was started with, once. */
  firstLink(): Promise<ScreenLink | undefined>;
  /** A link was followed while the app ran. */
  onNavigate(listener: (link: ScreenLink) => void): void;
  /** A menu item asks for something that the screen does. */
  onCommand(listener: (command: "add" | "save") => void): void;
}
