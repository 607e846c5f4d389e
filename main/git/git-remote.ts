import { commonGitFolder, readGitConfig } from "./git.ts";
import { valueIn } from "./git-config.ts";

/** Longer remotes are ignored, because a remote is copied into messages and files. */
const maxCharacters = 1_000;
/** The patterns below take time that grows with the square of a text's length. */
const maxUrlCharacters = 4_000;
const defaultPorts: { readonly [protocol: string]: string } = {
  "http:": "80",
  "https:": "443",
  "ssh:": "22",
  "git:": "9418",
};

/**
 * The remote `origin` of the git work tree in a folder, as HOST/PATH; undefined if the folder is not a work tree, or if other machines
 * cannot have the same remote. Reads git's files; git itself need not be installed.
 */
export async function readRemote(folder: string): Promise<string | undefined> {
  try {
    const gitFolder = await commonGitFolder(folder);
    const config = gitFolder && (await readGitConfig(gitFolder));
    const url = config && valueIn(config, "remote", "origin", "url");
    return url ? normalizedRemote(url) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The URL of a remote as HOST/PATH, the same for every way to reach it: without scheme, user, password and the suffix `.git`, and with the
 * host in lower case. Undefined if the URL has no host, or if the result could contain a password.
 */
export function normalizedRemote(url: string): string | undefined {
  if (url.length > maxUrlCharacters) return undefined;
  const scp = /^(?:[^@/:\s]+@)?(?<host>[^@/:\s[\]]{2,}|\[[0-9a-fA-F:.]+\]):(?!\/\/)(?<path>[^:].*)$/.exec(url)?.groups;
  const [host, path] = scp === undefined ? partsOf(url) : [scp["host"] ?? "", scp["path"] ?? ""];
  const repositoryPath = path
    .replace(/^\/+|\/+$/g, "")
    .replace(/\.git$/, "")
    .replace(/\/+$/, "");
  const remote = `${host.toLowerCase()}/${repositoryPath}`;
  return isRemote(remote) ? remote : undefined;
}

function partsOf(url: string): [host: string, path: string] {
  if (!/^(?:https?|ssh|git|git\+ssh|ssh\+git):\/\//i.test(url) || !URL.canParse(url)) return ["", ""];
  const { protocol, hostname, port, pathname } = new URL(url);
  const isDefaultPort = port === "" || defaultPorts[protocol.replace(/git\+|\+git/, "")] === port;
  return [isDefaultPort ? hostname : `${hostname}:${port}`, decodeURIComponent(pathname)];
}

/** Whether a value has the form that `normalizedRemote` returns. */
export function isRemote(text: unknown): text is string {
  return typeof text === "string" && text.length <= maxCharacters && /^[^\s@/\\]+\/[^\s@\\?#]+$/.test(text);
}
