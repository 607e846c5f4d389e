/** A text out of a file as a message tells it: without what nobody reads, behind `most` characters. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
