/** An API key's text: `repoconf_` + id + `_` + 43 random characters (256 bits). */
const keyText = /^repoconf_([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/;

/** The id in a key's text; undefined if the text is not a key. */
export function keyIdOf(key: string): string | undefined {
  return keyText.exec(key)?.[1];
}
