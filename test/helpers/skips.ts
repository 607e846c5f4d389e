/** The title of tests that are skipped where something is missing: the report then says what. */
export function titleWith(isThere: boolean, what: string, title: string): string {
  return isThere ? title : `${title} (skipped: no ${what})`;
}
