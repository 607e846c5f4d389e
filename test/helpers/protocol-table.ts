import type { OperationName } from "../../shared/protocol.ts";

/** Codes and names of the protocol's table, written a second time, because programs rely on them. */
export const protocolCodes: Readonly<Record<number, string>> = {
  1006: "No Repository ID Provided",
  1007: "No Configuration Fields Found",
  1008: "No Configuration Field Provided",
  1011: "Unknown Configuration Field",
  1100: "Unauthorized",
  1101: "Malformed Request",
  1102: "Unknown Repository",
  1103: "Invalid Configuration Value",
  1104: "Revision Conflict",
  1105: "Permission Denied",
  1106: "Repository File Broken",
  1107: "Limit Exceeded",
  1108: "Storage Failure",
  1109: "Unknown Operation",
  1110: "History Compacted",
  1111: "Already Exists",
  1112: "Not Found",
  1113: "Shutting Down",
  1114: "Untrusted Value",
  1500: "Internal Error",
};

/** The `result` of an operation when it fails as a whole. */
export function emptyResult(name: OperationName): unknown {
  if (name === "config/list") return {};
  return ["config/set", "config/unset", "history/restore"].includes(name) ? [] : null;
}
