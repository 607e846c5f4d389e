/** Quotes any text as one word of a POSIX shell, bash or zsh. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Quotes any text as one word of fish, where a backslash escapes in single quotes too. */
export function fishQuoted(text: string): string {
  return `'${text.replace(/['\\]/g, "\\$&")}'`;
}
