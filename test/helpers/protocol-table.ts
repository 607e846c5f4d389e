import type { OperationName } from "../../shared/protocol.ts";

/** Codes and names as the protocol's table has them, written down a second time: programs rely on them. */
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
  1500: "Internal Error",
};

/** What each operation answers in `result` when it fails as a whole. The compiler asks for a line per operation. */
export const emptyResults: Readonly<Record<OperationName, unknown>> = {
  "config/list": {},
  "config/set": [],
  "config/unset": [],
  "config/explain": null,
  "config/watch": null,
  "config/unwatch": null,
  "history/list": null,
  "history/restore": [],
  "history/forget": null,
  "scope/list": null,
  "repo/list": null,
  "repo/add": null,
  "repo/update": null,
  "repo/remove": null,
  "config/search": null,
  "repo/scan": null,
  "file/read": null,
  "file/write": null,
  "file/restore": null,
  "session/create": null,
  "session/link": null,
  "key/self": null,
  "key/list": null,
  "key/create": null,
  "key/revoke": null,
  "daemon/status": null,
  "daemon/stop": null,
};

export const operationNames = Object.keys(emptyResults) as OperationName[];
