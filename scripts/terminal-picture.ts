/**
 * The picture of a terminal in README.md, docs/pictures/terminal.svg: commands that really ran, with what they printed. `npm run pictures`
 * draws it, and test/e2e/readme-session.test.ts compares it with what they print now.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const project = join(import.meta.dirname, "..");
/** In a work tree with a repository that was just added. */
const commands = [
  'repoconf set svc.timeout=30 svc.domain=shop.test --reason "the database is slow"',
  "repoconf set svc.timeout=soon svc.domian=shop.test",
  "sed -i s/30/45/ .repoconf.json    # or any editor",
  "repoconf history",
  "repoconf explain svc.domain",
  "repoconf check",
];
const columns = 92;
const [width, height, top, left] = [8.4, 20, 56, 20];
const colors = { ground: "#1c2128", bar: "#2d333b", text: "#cdd9e5", dim: "#768390" };
/** What the codes of our own styles look like. */
const styles: { readonly [code: string]: string } = {
  "1": 'font-weight="bold"',
  "2": `fill="${colors.dim}"`,
  "31": 'fill="#f47067"',
  "32": 'fill="#57ab5a"',
  "33": 'fill="#daaa3f"',
};

/** Runs the commands on a terminal, in a fresh home, and returns what it shows, with its escape codes. Needs `script` of util-linux. */
export async function recordTerminal(): Promise<string> {
  const home = await realpath(await mkdtemp(join(tmpdir(), "repoconf-picture-")));
  try {
    const shop = join(home, "src/shop");
    await mkdir(shop, { recursive: true });
    const lines = [
      `stty cols ${columns}`,
      `export PATH='${join(project, "scripts/bin")}':"$PATH"`,
      `git init -q '${shop}' && cd '${shop}' && repoconf repo add --in-tree > /dev/null 2>&1 || exit`,
      ...commands.flatMap(command => [`printf '\\033[1m$ %s\\033[22m\\n' '${command}'`, command]),
      "repoconf stop > /dev/null",
    ];
    await writeFile(join(home, "session.sh"), lines.join("\n"));
    const { REPOCONF_HOME: _, REPOCONF_API_KEY: __, NO_COLOR: ___, ...rest } = process.env;
    const env = { ...rest, HOME: home, XDG_DATA_HOME: "", TERM: "xterm-256color" };
    const typed = ["--quiet", "--return", "--command", `bash '${join(home, "session.sh")}'`, "/dev/null"];
    const terminal = spawn("script", typed, { env, stdio: ["ignore", "pipe", "inherit"] });
    let shown = "";
    terminal.stdout.setEncoding("utf8").on("data", (text: string) => {
      shown += text;
    });
    await once(terminal, "close");
    // A command that waits says so in a line that it then removes.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: this is how.
    const lasting = shown.replace(/(\r\u001b\[K[^\r\n]*)*\r\u001b\[K/g, "");
    return lasting.replaceAll("\r", "").replaceAll(home, "/home/ada").trimEnd();
  } finally {
    await rm(home, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** An SVG of what a terminal shows. */
export function drawTerminal(shown: string): string {
  const lines = shown.split("\n");
  const [wide, high] = [2 * left + columns * width, top + lines.length * height];
  const dots = ["#f47067", "#daaa3f", "#57ab5a"].map(
    (color, at) => `<circle cx="${22 + 20 * at}" cy="18" r="6" fill="${color}"/>`,
  );
  const texts = lines.map((line, row) => `<text y="${top + row * height}">${drawLine(line)}</text>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${wide.toFixed(0)} ${high}" font-family="ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="${colors.text}"><title>Repoconf on a terminal</title>
<rect width="100%" height="100%" rx="10" fill="${colors.ground}"/><path d="M0 36V10a10 10 0 0 1 10-10H${(wide - 10).toFixed(0)}a10 10 0 0 1 10 10v26z" fill="${colors.bar}"/>${dots.join("")}
${texts.join("\n")}
</svg>
`;
}

/** The lines of such an SVG, without styles. */
export function linesOfPicture(svg: string): string[] {
  return [...svg.matchAll(/<text [^>]*>(.*)<\/text>/g)].map(([, line = ""]) =>
    line
      .replace(/<[^>]*>/g, "")
      .replaceAll("\u00a0", " ")
      .replace(/&(lt|gt|amp);/g, (_, name: string) => ({ lt: "<", gt: ">" })[name] ?? "&"),
  );
}

/** Each run of one style has its place and width, so columns are aligned in every font. Plain blanks would be one where there are several. */
function drawLine(line: string): string {
  let column = 0;
  let style = "";
  const runs = [];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the escape codes of styles.
  for (const [, code, text = ""] of line.matchAll(/(?:\u001b\[(\d+)m)?([^\u001b]*)/g)) {
    if (code !== undefined) style = styles[code] ?? "";
    if (text === "") continue;
    const place = `x="${(left + column * width).toFixed(1)}" textLength="${(text.length * width).toFixed(1)}"`;
    runs.push(`<tspan ${place}${style === "" ? "" : ` ${style}`}>${escaped(text)}</tspan>`);
    column += text.length;
  }
  return runs.join("");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll(" ", "\u00a0");
}
