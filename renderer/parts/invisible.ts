/** What is unlikely to stand in a value on purpose: nobody sees it, or sees it as a plain space. */
const patterns = [
  String.raw`(?![\n\r\t\u200c\u200d\ufe00-\ufe0f])[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]`,
  String.raw`(?![ \u3000])\p{Zs}`,
  // Joiners and variation selectors belong to scripts and emoji: there, they follow or stand between other characters than ASCII.
  String.raw`(?<!\P{ASCII})[\u200c\u200d\ufe00-\ufe0f](?!\u20e3)`,
  String.raw`[\u200c\u200d](?!\P{ASCII})`,
];
const invisible = new RegExp(`(?:${patterns.join("|")})`, "gu");
/** A space at the end of a line is not seen either. */
const inReview = new RegExp(`(?:${patterns.join("|")}|\\r|[ \\t](?=[ \\t]*(?:[\\r\\n]|$))|^[ \\t])`, "gu");
const spaces = /\p{Zs}/u;

/** The names of such characters in a text, each once, in their order: `U+200B`. */
export function invisibleIn(text: string): readonly string[] {
  return [...new Set(Array.from(text.matchAll(invisible), ([one]) => codeOf(one)))];
}

/** The text without them; those that are spaces become plain ones. */
export function withoutInvisible(text: string): string {
  return text.replace(invisible, one => (spaces.test(one) ? " " : ""));
}

/** The parts of a text for a reader who has to see all of it: `code` names a character that would not be seen. */
export function partsToSee(text: string): readonly { readonly text: string; readonly code?: string }[] {
  const parts: { text: string; code?: string }[] = [];
  let end = 0;
  for (const match of text.matchAll(inReview)) {
    if (match.index > end) parts.push({ text: text.slice(end, match.index) });
    parts.push({ text: match[0], code: nameOf(match[0]) });
    end = match.index + match[0].length;
  }
  if (end < text.length || parts.length === 0) parts.push({ text: text.slice(end) });
  return parts;
}

/** A name in one line in which every character is seen: `web[U+200B]`. */
export function nameToSee(name: string): string {
  if (name === "") return "(no name)";
  const parts = partsToSee(name).map(({ text, code }) => (code === undefined ? text : `[${code}]`));
  return parts.join("").replace(/[\n\t]/g, one => `[${nameOf(one)}]`);
}

function nameOf(character: string): string {
  return { " ": "space", "\t": "tab", "\r": "CR", "\n": "LF" }[character] ?? codeOf(character);
}

function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
