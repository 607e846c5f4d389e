/** What the desktop app's screen may ask of the shell around it, as the preload offers it in the page. */
export interface ShellBridge {
  /** The key of this window's session. */
  session(): Promise<string>;
  /** A folder that the person chooses; undefined: none. */
  chooseFolder(): Promise<string | undefined>;
  /** A link leads to a repository, or to a field of it. */
  onNavigate(listener: (link: { readonly repo: string; readonly field?: string }) => void): void;
  /** A menu item asks for something that the screen does. */
  onCommand(listener: (command: "add" | "save") => void): void;
}
