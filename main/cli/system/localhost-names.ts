import { release } from "node:os";

/** The kernel of macOS 26, the first version whose resolver knows names ending in `.localhost`. */
const firstKernel = 25;

/**
 * Whether a browser on this system may resolve names ending in `.localhost` over the network. Safari uses the system's resolver; other
 * browsers resolve them themselves. A link with such a name would not open, or send its code to any machine that answers the query.
 */
export function mayResolveLocalhostOverNetwork(
  platform: string = process.platform,
  kernel: string = release(),
): boolean {
  return platform === "darwin" && Number.parseInt(kernel, 10) < firstKernel;
}
