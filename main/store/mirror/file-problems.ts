import { basename, dirname } from "node:path";
import type { HealthProblem } from "../../../shared/protocol.ts";
import type { JsonDocument } from "../../files/json-document.ts";

/** Why a file is missing or cannot be read. `isLocal`: it is that of a local layer. */
export function fileProblem(document: JsonDocument, isLocal = false): HealthProblem {
  const { status } = document;
  const name = nameOf(document, isLocal);
  if (status.kind !== "broken") {
    const next = isLocal ? "; its last values still count. To give them up, write {} into it" : "";
    return { code: 1106, message: `${name} is missing${next}` };
  }
  const { message, line, column } = status;
  return {
    code: 1106,
    message: `${name}: ${message}`,
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
  };
}

/** That a member of a file has another form than it must have. */
export function shapeProblem(document: JsonDocument, path: string, rule: string, isLocal = false): HealthProblem {
  const place = document.status.kind === "good" ? document.status.json.locate([path.split(".")])[0] : undefined;
  return { code: 1106, message: `${nameOf(document, isLocal)}: "${path}" ${rule}`, ...place };
}

/** The shared file in the home has the same name as the local one: that one's folder tells them apart. */
function nameOf({ path }: JsonDocument, isLocal: boolean): string {
  return isLocal ? `${basename(dirname(path))}/${basename(path)}` : basename(path);
}
