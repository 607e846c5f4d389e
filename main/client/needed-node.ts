const [neededMajor, neededMinor] = [22, 13];

/** What to tell a person whose Node is too old; undefined if it is not. Runs on every Node. */
export function problemOfNode(): string | undefined {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return undefined;
  return `repoconf needs Node ${neededMajor}.${neededMinor} or newer, but this is Node ${node}.`;
}
