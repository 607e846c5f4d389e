/** Quotes any text as one word of a POSIX shell, bash or zsh. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
