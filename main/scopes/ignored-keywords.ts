import { distance } from "fastest-levenshtein";
import type { JsonObject } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import { shortened, shortenedList } from "../../shared/shortened.ts";
import { knownKeywords } from "./meta-schema.ts";
import { sourceOf } from "./schema-faults.ts";

/** Keywords that are named with their places; the others are counted. */
const mostPlaces = 10;
/** Keywords that are only named. */
const mostNames = 20;
/** Different keywords that are compared with those that are known. */
const mostKeywords = 200;

/** Collects the keywords that are not known, for one sentence each where another one may be meant, and one for all others. */
export class IgnoredKeywords {
  readonly #guesses = new Map<string, string>();
  readonly #others = new Set<string>();

  add(schema: JsonObject): void {
    for (const keyword of Object.keys(schema)) {
      if (knownKeywords.has(keyword) || this.#guesses.has(keyword) || this.#others.has(keyword)) continue;
      // To compare each of very many would take seconds.
      if (this.#guesses.size + this.#others.size >= mostKeywords) return;
      const meant = closest(keyword);
      if (meant !== undefined)
        this.#guesses.set(
          keyword,
          `${JSON.stringify(keyword)} at ${sourceOf(schema, [keyword])} is no keyword and has no effect: did you mean "${meant}"?`,
        );
      // Other tools have keywords that begin so.
      else if (!keyword.startsWith("x-")) this.#others.add(keyword);
    }
  }

  get notes(): string[] {
    const guesses = [...this.#guesses.values()];
    const notes = guesses.slice(0, mostPlaces);
    if (guesses.length > mostPlaces) notes.push(`and ${guesses.length - mostPlaces} more keywords are misspelt`);
    const names = [...this.#others].map(keyword => JSON.stringify(shortened(keyword, limits.shownPart)));
    if (names.length > 0) notes.push(`not known as keywords, so without effect: ${shortenedList(names, mostNames)}`);
    return notes;
  }
}

/** The keyword that may be meant: with other capitals, or a few letters away. */
function closest(keyword: string): string | undefined {
  const lower = keyword.toLowerCase();
  let [found, least]: [string | undefined, number] = [undefined, Math.min(2, Math.floor(keyword.length / 4)) + 1];
  for (const known of knownKeywords) {
    if (known.toLowerCase() === lower) return known;
    if (Math.abs(known.length - keyword.length) >= least) continue;
    const away = distance(keyword, known);
    if (away < least) [found, least] = [known, away];
  }
  return found;
}
