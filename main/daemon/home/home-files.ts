import { basename } from "node:path";
import type { Logger } from "pino";
import { allowsInScope } from "../../../shared/grants.ts";
import { FolderWatcher } from "../../files/folder-watcher.ts";
import type { Home } from "../../home/home.ts";
import { Settings } from "../../home/settings.ts";
import { ScopeFiles } from "../../scopes/scope-files.ts";
import { Scopes } from "../../scopes/scopes.ts";
import type { Store } from "../../store/store.ts";
import type { Clock } from "../../time/clock.ts";
import { inTurn } from "../../time/in-turn.ts";
import type { Drafts } from "../config/drafts.ts";
import type { Connections } from "../socket/connections.ts";

type OnProblem = (message: string, context?: object) => void;

/** What depends on the scopes. */
export interface ScopeUsers {
  readonly store: Store;
  readonly drafts: Drafts;
  readonly connections: Connections;
  readonly problems: { check(): void };
  readonly logger: Logger;
}

/** The files that people edit in the home itself, the settings and the scopes, which are applied when they change. */
export class HomeFiles {
  readonly settings: Settings;
  readonly scopes: Scopes;
  readonly scopeFiles: ScopeFiles;
  /** Reads the scopes again, and updates everything that depends on them. */
  readonly reloadScopes: () => Promise<void>;
  readonly #home: Home;
  readonly #reloadSettings: () => Promise<void>;
  readonly #watcher: FolderWatcher;
  /** Undefined until `watch`: at the start nothing depends on the scopes yet. */
  #users: ScopeUsers | undefined;

  private constructor(home: Home, scopes: Scopes, scopeFiles: ScopeFiles, settings: Settings, onProblem: OnProblem) {
    const report = (message: string) => (error: unknown) => onProblem(message, { error: String(error) });
    this.#home = home;
    this.scopes = scopes;
    this.scopeFiles = scopeFiles;
    this.settings = settings;
    this.#watcher = new FolderWatcher(report("a folder cannot be watched"));
    this.#reloadSettings = inTurn(async () => {
      await settings.reload();
      this.#users?.problems.check();
    }, report("settings.json cannot be read"));
    this.reloadScopes = inTurn(() => this.#reloadScopes(), report("the scopes cannot be read"));
  }

  static async open(home: Home, clock: Clock, onProblem: OnProblem): Promise<HomeFiles> {
    const scopes = new Scopes();
    const scopeFiles = new ScopeFiles(home, scopes, onProblem, clock);
    await scopeFiles.reload();
    return new HomeFiles(home, scopes, scopeFiles, await Settings.open(home, clock, onProblem), onProblem);
  }

  /** `onEntry` gets the name of each entry of the home that changes; undefined if it is not known. */
  watch(users: ScopeUsers, onEntry: (name: string | undefined) => void): void {
    this.#users = users;
    const homeWatched = this.#watcher.add(this.#home.folder, name => {
      onEntry(name);
      if (name === undefined || name === basename(this.#home.settingsFile)) void this.#reloadSettings();
    });
    const scopesWatched = this.#watcher.add(this.#home.scopes, () => void this.reloadScopes());
    // Reads changes that were made before the watches began.
    void homeWatched.then(this.#reloadSettings);
    void scopesWatched.then(this.reloadScopes);
  }

  async close(): Promise<void> {
    await this.#watcher.close();
  }

  async #reloadScopes(): Promise<void> {
    const changed = await this.scopeFiles.reload();
    if (this.#users === undefined) return;
    const { store, drafts, connections, problems, logger } = this.#users;
    problems.check();
    // The scopes are in the log before the changes of values that follow from them.
    store.shareScopes();
    if (changed.length === 0) return;
    await this.scopeFiles.writeRepositorySchema();
    store.reinterpret();
    drafts.reinterpret();
    for (const scope of changed) {
      logger.info({ scope }, "a scope changed");
      connections.publishScope(scope, caller => allowsInScope(caller.grants, "read", scope));
    }
  }
}
