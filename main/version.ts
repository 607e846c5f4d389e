/**
 * Whether a version comes before another. One that is no version, as a damaged endpoint file has it, does not. semver is loaded
 * only if the two differ, because every command asks this when it starts.
 */
export async function isOlder(version: string, other: string): Promise<boolean> {
  if (version === other) return false;
  const { default: semver } = await import("semver");
  return semver.valid(version) !== null && semver.lt(version, other);
}
