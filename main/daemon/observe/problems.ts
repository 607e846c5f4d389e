import type { Settings } from "../../home/settings.ts";
import type { ScopeFiles } from "../../scopes/scope-files.ts";
import type { Findings } from "../../store/findings.ts";
import type { Clock } from "../../time/clock.ts";

/** Milliseconds from a change of the list until it is told: what ends before that, such as a connection that is replaced, is not. */
const delay = 1_000;

export interface ProblemsOptions {
  readonly files: { readonly settings: Settings; readonly scopeFiles: ScopeFiles };
  readonly store: { readonly problems: readonly string[]; readonly findings: Findings; onProblems: () => void };
  readonly clock: Clock;
  /** Called when the list has changed. */
  onChange(all: readonly string[]): void;
}

/** What is wrong with the home as a whole: the one list that status, doctor, the screen, `/readyz` and the metrics show. */
export class Problems {
  readonly #options: ProblemsOptions;
  #told: string;
  /** Cancels the comparison that is due. */
  #cancel: (() => void) | undefined;

  constructor(options: ProblemsOptions) {
    this.#options = options;
    this.#told = this.all.join("\n");
    options.store.onProblems = () => this.check();
  }

  /** One sentence each, which also says what to do. */
  get all(): readonly string[] {
    const { files, store } = this.#options;
    const ofHome = store.findings.all.filter(({ repo, isNote }) => repo === undefined && !isNote);
    const problems = [
      files.settings.problem,
      ...files.scopeFiles.problems,
      ...store.problems,
      ...ofHome.map(({ message }) => message),
    ];
    return problems.filter(problem => problem !== undefined);
  }

  /** Call when the list may have changed. */
  check(): void {
    if (this.#cancel !== undefined || this.all.join("\n") === this.#told) return;
    this.#cancel = this.#options.clock.schedule(delay, () => {
      this.#cancel = undefined;
      const { all } = this;
      const text = all.join("\n");
      if (text !== this.#told) this.#options.onChange(all);
      this.#told = text;
    });
  }

  close(): void {
    this.#options.store.onProblems = () => {};
    this.#cancel?.();
  }
}
