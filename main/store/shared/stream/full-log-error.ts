import { RepoconfError } from "../../../../shared/errors.ts";

/** The server has no room for a change (code 1108). `said`: how it put that. */
export class FullLogError extends RepoconfError {
  readonly said: string;
  readonly isOutcomeUnknown: boolean;

  constructor(stream: string, said: string, isOutcomeUnknown: boolean) {
    const outcome = isOutcomeUnknown
      ? "It is not known whether the change was kept: read the value again once there is room."
      : "Nothing was changed.";
    const message = `The shared log ${stream} is full: its server has no room for the change (${said}). ${outcome} To see where room is needed, run: repoconf status`;
    super(1108, message, { details: { cause: said, ...(isOutcomeUnknown && { outcome: "unknown" }) } });
    this.said = said;
    this.isOutcomeUnknown = isOutcomeUnknown;
  }
}
