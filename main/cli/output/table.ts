import { isAbsolute } from "node:path";

/** Spaces between two columns. */
const gap = 2;
/** Columns are not made narrower than this. */
const narrowest = 12;

/**
 * Lays out the header and the rows as aligned columns; each row becomes one or more lines. If they are wider than `width`, the widest
 * columns are narrowed and their cells wrapped. The first column never is, and no path: users copy them.
 */
export function layOutTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  width = Number.POSITIVE_INFINITY,
): string[][] {
  const natural = header.map((title, column) => Math.max(title.length, ...rows.map(row => (row[column] ?? "").length)));
  const widths = narrow(natural, width - gap * (header.length - 1));
  return [header, ...rows].map(row => {
    const cells = row.map((cell, column) => wrap(cell, widths[column] ?? cell.length));
    const height = Math.max(...cells.map(lines => lines.length));
    return Array.from({ length: height }, (_, line) =>
      cells
        .map((lines, column) => (lines[line] ?? "").padEnd(widths[column] ?? 0))
        .join(" ".repeat(gap))
        .trimEnd(),
    );
  });
}

function narrow(natural: readonly number[], width: number): number[] {
  const widths = [...natural];
  for (let excess = widths.reduce((sum, one) => sum + one, 0) - width; excess > 0; excess -= 1) {
    const widest = Math.max(...widths.slice(1));
    if (widest <= narrowest) break;
    widths[widths.lastIndexOf(widest)] = widest - 1;
  }
  return widths;
}

/** The lines of a text, wrapped between words only: what is longer than a line, such as a path, is copied. `taken`: of the first line. */
export function wrapWords(text: string, width: number, taken = 0): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    const room = lines.length === 1 ? width - taken : width;
    if (last !== undefined && last.length + 1 + word.length <= room) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Wraps between words if possible, else behind a comma, as in JSON, and splits what is longer than a line. */
function wrap(text: string, width: number): string[] {
  if (isAbsolute(text)) return [text];
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width) {
    const space = rest.lastIndexOf(" ", width);
    const comma = rest.lastIndexOf(",", width - 1);
    // Never splits a surrogate pair.
    const end =
      space > 0 ? space : comma > 0 ? comma + 1 : width - (/[\uDC00-\uDFFF]/.test(rest.charAt(width)) ? 1 : 0);
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return [...lines, rest];
}
