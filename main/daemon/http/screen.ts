import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";

/** The placeholder in the built page for the nonce of each load. */
const noncePlace = "__NONCE__";

const types: { readonly [extension: string]: string } = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
  ".json": "application/json",
};

export interface ScreenAnswer {
  readonly body: Buffer;
  readonly headers: { readonly [name: string]: string };
}

interface ScreenFile {
  readonly content: Buffer;
  readonly type: string;
}

/** The built screen, read once: its page and its files. Nothing else on the disk is served. */
export class Screen {
  readonly #page: string;
  readonly #files: ReadonlyMap<string, ScreenFile>;

  private constructor(page: string, files: ReadonlyMap<string, ScreenFile>) {
    this.#page = page;
    this.#files = files;
  }

  /** The screen in a folder; undefined if there is none, for example if only the daemon was built. */
  static async open(folder: string): Promise<Screen | undefined> {
    const page = await readFile(join(folder, "index.html"), "utf8").catch(() => undefined);
    if (page === undefined) return undefined;
    const files = new Map<string, ScreenFile>();
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      const type = types[extname(entry.name)];
      if (!entry.isFile() || type === undefined || entry.name === "index.html") continue;
      files.set(`/${relative(folder, path).split(sep).join("/")}`, { content: await readFile(path), type });
    }
    return new Screen(page, files);
  }

  /** The page or one of its files; undefined if the path has none. `daemon`: where the page may connect to (`ws://HOST`). */
  find(path: string, daemon: string): ScreenAnswer | undefined {
    if (path === "/") {
      const nonce = randomBytes(16).toString("base64");
      const headers = { "Content-Security-Policy": pagePolicy(nonce, daemon), "Cache-Control": "no-store" };
      return answerOf(this.#page.replaceAll(noncePlace, nonce), ".html", headers);
    }
    const file = this.#files.get(path);
    if (file === undefined) return undefined;
    const { content, type } = file;
    // Names of built files depend on their content; other files, such as the icon, keep their names.
    const built = path.startsWith("/assets/");
    return answerOf(content, extname(path), {
      "Cache-Control": built ? "public, max-age=31536000, immutable" : "no-cache",
      "Content-Security-Policy": "frame-ancestors 'none'",
      "Content-Type": type,
    });
  }
}

function pagePolicy(nonce: string, daemon: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src 'self' ${daemon}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; ");
}

function answerOf(
  text: string | Buffer,
  extension: string,
  headers: { readonly [name: string]: string },
): ScreenAnswer {
  return {
    body: typeof text === "string" ? Buffer.from(text) : text,
    headers: {
      "Content-Type": types[extension] ?? "application/octet-stream",
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
      "Cross-Origin-Opener-Policy": "same-origin",
      "Cross-Origin-Resource-Policy": "same-origin",
      ...headers,
    },
  };
}
