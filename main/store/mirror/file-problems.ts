import { basename } from "node:path";
import type { HealthProblem } from "../../../shared/protocol.ts";
import type { JsonDocument } from "../../files/json-document.ts";

/** Why a file is missing or cannot be read. */
export function fileProblem(document: JsonDocument): HealthProblem {
  const { status } = document;
  const name = basename(document.path);
  if (status.kind !== "broken") return { code: 1106, message: `${name} is missing` };
  const { message, line, column } = status;
  return {
    code: 1106,
    message: `${name}: ${message}`,
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
  };
}

/** That a member of a file has another form than it must have. */
export function shapeProblem(document: JsonDocument, path: string, rule = "must be an object"): HealthProblem {
  const place = document.status.kind === "good" ? document.status.json.locate([path.split(".")])[0] : undefined;
  return { code: 1106, message: `${basename(document.path)}: "${path}" ${rule}`, ...place };
}
