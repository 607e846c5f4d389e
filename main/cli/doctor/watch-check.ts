import { watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { describeCause } from "../../files/describe-cause.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import type { Home } from "../../home/home.ts";
import { counted, type Finding, good, note, problem } from "./finding.ts";

const check = "watching";
/** The daemon watches three folders of every home: the home itself, repositories and scopes. */
const homeFolders = 3;

/** Checks whether the system lets the daemon watch the home and `treeFolders` folders of in-tree repositories. */
export async function checkWatching(home: Home, treeFolders: number): Promise<Finding> {
  if (process.platform !== "linux") return good(check, "skipped: only Linux limits how many folders can be watched");
  try {
    watch(home.folder).close();
  } catch (error) {
    return describeFailure(error);
  }
  const [watches, instances] = await Promise.all([readLimit("max_user_watches"), readLimit("max_user_instances")]);
  if (watches === undefined || instances === undefined) return good(check, "skipped: the system reports no limits");
  return checkWatchLimits(watches, instances, homeFolders + treeFolders);
}

/** Compares the limits with the folders to watch. `watches` and `instances` are shared by all of the user's programs. */
export function checkWatchLimits(watches: number, instances: number, needed: number): Finding {
  const message = `${counted(needed, "folder")} to watch, fs.inotify.max_user_watches is ${watches}, max_user_instances ${instances}`;
  if (instances < 1) return problem(check, message, raise("max_user_instances", 128));
  if (watches < needed) return problem(check, message, raise("max_user_watches", needed + 65_536));
  if (watches < needed * 2)
    return note(check, `${message}, shared with other programs`, raise("max_user_watches", needed + 65_536));
  return good(check, message);
}

function describeFailure(error: unknown): Finding {
  switch (systemErrorCode(error)) {
    case "ENOSPC":
      return problem(check, "all watches are in use (fs.inotify.max_user_watches)", raise("max_user_watches", 524_288));
    case "EMFILE":
      return problem(
        check,
        "all inotify instances are in use (fs.inotify.max_user_instances)",
        raise("max_user_instances", 512),
      );
    default:
      return problem(check, `the home cannot be watched: ${describeCause(error)}`, "Hand edits may be noticed late.");
  }
}

function raise(name: string, value: number): string {
  return `Hand edits may be noticed late. Raise the limit: sudo sysctl fs.inotify.${name}=${value}; to make it permanent, set it in /etc/sysctl.d/.`;
}

async function readLimit(name: string): Promise<number | undefined> {
  const text = await readFile(`/proc/sys/fs/inotify/${name}`, "utf8").catch(() => "");
  return /^\d+$/.test(text.trim()) ? Number(text) : undefined;
}
