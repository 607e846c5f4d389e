import { ownSocketFolder } from "../../client/own-socket.ts";
import { homeAt, homeFolder } from "../../home/home.ts";

/** Tells a hook's script that it may send the owner's key into the home's socket itself; empty if it may not. */
export function checkedLine(): string {
  try {
    ownSocketFolder(homeAt(homeFolder(undefined)));
    return "__repoconf_checked=1\n";
  } catch {
    return "";
  }
}
