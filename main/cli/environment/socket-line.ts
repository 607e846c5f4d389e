import type { HookShell } from "../../../shared/protocol.ts";
import { ownSocketFolder } from "../../client/own-socket.ts";
import { homeAt, homeFolder } from "../../home/home.ts";
import { checkedLine } from "../../hook/lines.ts";

/** Whether a hook's script may send the owner's key into the home's socket itself, as a line for it; empty if it may not. */
export function socketLine(shell: HookShell): string {
  try {
    ownSocketFolder(homeAt(homeFolder(undefined)));
    return checkedLine(shell);
  } catch {
    return "";
  }
}
