import { join } from "node:path";
import { readForeignText } from "../files/foreign-file.ts";
import { commonGitFolder } from "./git.ts";

/** Longer remotes are ignored, because a remote is copied into messages and files. */
const maxCharacters = 1_000;
/** The patterns below take time that grows with the square of a text's length. */
const maxUrlCharacters = 4_000;
const configBytes = 1024 * 1024;
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
    const config =
      gitFolder &&
      (await readForeignText(join(gitFolder, "config"), { maximumBytes: configBytes, followsLinks: true }));
    const url = config && originIn(config);
    return url ? normalizedRemote(url) : undefined;
  } catch {
    return undefined;
  }
}

/** The first URL of the remote `origin` in a git configuration; undefined if there is none. Takes time in proportion to the text. */
export function originIn(config: string): string | undefined {
  let isOrigin = false;
  for (const line of config.split(/\r?\n/)) {
    let rest = line.trim();
    if (rest.startsWith("[")) {
      const header = headerIn(rest);
      if (header !== undefined) {
        isOrigin = header.section.toLowerCase() === "remote" && header.name === "origin";
        rest = rest.slice(header.length).trim();
      }
    }
    const url = isOrigin ? urlIn(rest) : undefined;
    if (url) return url;
  }
  return undefined;
}

interface SectionHeader {
  readonly section: string;
  readonly name: string | undefined;
  /** Characters of it. */
  readonly length: number;
}

/** `[section "name"]` at the beginning of a line; undefined if it is not complete. */
function headerIn(line: string): SectionHeader | undefined {
  const quote = line.indexOf('"');
  const end = line.indexOf("]");
  if (quote === -1 || (end !== -1 && end < quote))
    return end === -1 ? undefined : { section: line.slice(1, end).trim(), name: undefined, length: end + 1 };
  let closing = quote + 1;
  while (closing < line.length && line[closing] !== '"') closing += line[closing] === "\\" ? 2 : 1;
  const after = line.indexOf("]", closing);
  if (closing >= line.length || after === -1 || line.slice(closing + 1, after).trim() !== "") return undefined;
  return { section: line.slice(1, quote).trim(), name: line.slice(quote + 1, closing), length: after + 1 };
}

/** The value of `url = VALUE`, without quotes and comment; undefined if the line is another one. */
function urlIn(line: string): string | undefined {
  const equals = line.indexOf("=");
  if (equals === -1 || line.slice(0, equals).trim().toLowerCase() !== "url") return undefined;
  const value = line.slice(equals + 1).trim();
  if (!value.startsWith('"')) {
    const plain = value.split(/[#;]/, 1)[0] ?? "";
    return /["\\]/.test(plain) ? undefined : plain.trim();
  }
  const closing = value.indexOf('"', 1);
  const quoted = value.slice(1, closing);
  const rest = value.slice(closing + 1).trim();
  return closing === -1 || quoted.includes("\\") || !/^(?:[#;]|$)/.test(rest) ? undefined : quoted;
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
