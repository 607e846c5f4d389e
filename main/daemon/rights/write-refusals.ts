import { RepoconfError } from "../../../shared/errors.ts";
import type { LayerEdit } from "../../store/types.ts";

/** The key may only propose this value of a field: the error without the proposal's id, which a proposal that is kept adds. */
export class OnlyProposedError extends RepoconfError {
  readonly edit: LayerEdit;

  constructor(repo: string, field: string, edit: LayerEdit) {
    const message = `${field} runs as a command or becomes an environment variable, which this key may only propose.`;
    super(1007, message, { repo, field, details: { right: "commands" } });
    this.edit = edit;
  }

  /** As the key gets it. */
  proposedAs(proposal: string): RepoconfError {
    const { repo = "", field = "" } = this;
    const message = `${field} runs as a command or becomes an environment variable, so it is not set: it waits for a person, as the proposal ${proposal}. To review it: repoconf trust`;
    return new RepoconfError(1007, message, { repo, field, details: { right: "commands", proposal } });
  }
}

/** The key may not see the value of which it would change a part. */
export function onlyWhole(field: string, repo: string): RepoconfError {
  const message = `This key may not see the value of ${field}, so it cannot change a part of it. Set the whole value.`;
  return new RepoconfError(1105, message, { repo, field, details: { right: "reveal" } });
}

/** The field is none that the key may write. */
export function noSuchField(field: string, repo?: string, hint = " To list all fields: scope/list."): RepoconfError {
  const message = `There is no field "${field}" that this key may write.${hint}`;
  return new RepoconfError(1007, message, { ...(repo !== undefined && { repo }), field });
}
