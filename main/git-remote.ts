import { join } from "node:path";
import { readTextFile } from "./check/read-text-file.ts";
import { commonGitFolder } from "./git.ts";

/** A longer one is none: what a remote says goes into a message and into files. */
const mostCharacters = 1_000;
const configBytes = 1024 * 1024;
const defaultPorts: { readonly [protocol: string]: string } = {
  "http:": "80",
  "https:": "443",
  "ssh:": "22",
  "git:": "9418",
};

/**
 * Which repository the git work tree in a folder is a clone of, by its remote `origin`, as HOST/PATH; undefined: the folder is no
 * work tree, or its remote is none that another machine has too. Read from git's files alone.
 */
export async function readRemote(folder: string): Promise<string | undefined> {
  try {
    const gitFolder = await commonGitFolder(folder);
    const url = gitFolder && originIn(await readTextFile(join(gitFolder, "config"), configBytes));
    return url && normalizedRemote(url);
  } catch {
    return undefined;
  }
}

/** The first URL of the remote `origin` in a git configuration. */
export function originIn(config: string): string | undefined {
  let isOrigin = false;
  for (const line of config.split(/\r?\n/)) {
    const header = /^\s*\[\s*(?<section>[^\]\s"]+)(?:\s+"(?<name>(?:[^"\\]|\\.)*)")?\s*\]/.exec(line);
    if (header?.groups !== undefined)
      isOrigin = header.groups["section"]?.toLowerCase() === "remote" && header.groups["name"] === "origin";
    if (!isOrigin) continue;
    const rest = line.slice(header?.[0].length ?? 0);
    const value = /^\s*url\s*=\s*(?:"(?<quoted>[^"\\]*)"|(?<plain>[^"\\#;]*?))\s*(?:[#;].*)?$/i.exec(rest)?.groups;
    const url = value?.["quoted"] ?? value?.["plain"];
    if (url) return url;
  }
  return undefined;
}

/**
 * A remote's URL as HOST/PATH, the same however people reach it: without scheme, user, password and the ending `.git`, and the
 * host in lower case. Undefined: it names no host, or anything in it might be a password.
 */
export function normalizedRemote(url: string): string | undefined {
  const scp = /^(?:[^@/:\s]+@)?(?<host>[^@/:\s[\]]{2,}|\[[0-9a-fA-F:.]+\]):(?!\/\/)(?<path>[^:].*)$/.exec(url)?.groups;
  const [host, path] = scp === undefined ? partsOf(url) : [scp["host"] ?? "", scp["path"] ?? ""];
  const bare = path
    .replace(/^\/+|\/+$/g, "")
    .replace(/\.git$/, "")
    .replace(/\/+$/, "");
  const remote = `${host.toLowerCase()}/${bare}`;
  return isRemote(remote) ? remote : undefined;
}

function partsOf(url: string): [host: string, path: string] {
  if (!/^(?:https?|ssh|git|git\+ssh|ssh\+git):\/\//i.test(url) || !URL.canParse(url)) return ["", ""];
  const { protocol, hostname, port, pathname } = new URL(url);
  const isUsual = port === "" || defaultPorts[protocol.replace(/git\+|\+git/, "")] === port;
  return [isUsual ? hostname : `${hostname}:${port}`, decodeURIComponent(pathname)];
}

/** Whether it is one as `normalizedRemote` makes it. */
export function isRemote(text: unknown): text is string {
  return typeof text === "string" && text.length <= mostCharacters && /^[^\s@/\\]+\/[^\s@\\?#]+$/.test(text);
}
