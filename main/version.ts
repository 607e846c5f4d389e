/**
 * Whether a version ("1.2.3") is older than another; anything after the three numbers is ignored. semver would add 67 KB to a package
 * that is limited to 5 MiB (test/packing/package.test.ts), only to order prereleases, of which there are none.
 */
export function isOlder(version: string, other: string): boolean {
  const [left, right] = [version, other].map(one => one.split(/[.-]/).map(Number));
  for (const index of [0, 1, 2]) {
    const difference = (left?.[index] ?? 0) - (right?.[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
