/** Quotes any text as one word of a POSIX shell, bash or zsh. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Quotes any text as one word of fish, where a backslash escapes in single quotes too. */
export function fishQuoted(text: string): string {
  return `'${text.replace(/['\\]/g, "\\$&")}'`;
}

/** Quotes any text as one literal of PowerShell, which takes four typographic apostrophes for plain ones. */
export function pwshQuoted(text: string): string {
  return `'${text.replace(/['\u2018-\u201b]/g, "$&$&")}'`;
}
