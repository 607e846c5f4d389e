import type { Logger } from "pino";
import { joinConfigPath } from "../../../shared/config-path.ts";
import { errorNames, type RepoconfError } from "../../../shared/errors.ts";
import type { StoreEvent } from "../../store/types.ts";

/** Logs an event of the store. `file`: the file with the repository's values. */
export function logStoreEvent(logger: Logger, event: StoreEvent, file: string | undefined): void {
  const { id } = event.state;
  switch (event.kind) {
    case "changed": {
      const { revision, actor, source, changes } = event.change;
      const fields = changes.map(({ scope, field }) => joinConfigPath(scope, field));
      const who = actor.kind === "file" ? "file" : actor.name;
      logger.info({ repo: id, revision, actor: who, source, fields }, "configuration changed");
      break;
    }
    case "health":
      if (event.state.health.length === 0) logger.info({ repo: id, file }, "the repository's file is valid again");
      for (const { message, line, column } of event.state.health)
        logger.warn({ repo: id, file, line, column }, message);
      break;
    case "found":
      // Logged when it was found.
      break;
    case "added":
    case "updated":
    case "removed":
      logger.info({ repo: id }, `repository ${event.kind}`);
      break;
  }
}

/** Logs an error of a reply, with its cause if it was unexpected. */
export function logReplyError(logger: Logger, error: RepoconfError, operation: string): void {
  const { code, repo, field } = error;
  if (code === 1500) logger.error({ operation, err: error.cause }, "internal error in an operation");
  else logger.debug({ operation, code, repo, field }, errorNames[code]);
}
