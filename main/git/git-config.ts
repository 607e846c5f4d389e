/**
 * The first value of a key in a section of a git configuration, such as `url` in `[remote "origin"]`; undefined if there is none, or if it
 * has escape sequences. Takes time in proportion to the text.
 */
export function valueIn(config: string, section: string, name: string | undefined, key: string): string | undefined {
  let isInside = false;
  for (const line of config.split(/\r?\n/)) {
    let rest = line.trim();
    if (rest.startsWith("[")) {
      const header = headerIn(rest);
      if (header !== undefined) {
        isInside = header.section.toLowerCase() === section && header.name === name;
        rest = rest.slice(header.length).trim();
      }
    }
    const value = isInside ? valueInLine(key, rest) : undefined;
    if (value) return value;
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

/** The value of `KEY = VALUE`, without quotes and comment; undefined if the line is another one. */
function valueInLine(key: string, line: string): string | undefined {
  const equals = line.indexOf("=");
  if (equals === -1 || line.slice(0, equals).trim().toLowerCase() !== key) return undefined;
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
