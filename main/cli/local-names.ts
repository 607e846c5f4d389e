import { release } from "node:os";

/** The kernel of macOS 26, the first whose own resolver knows names that end in `.localhost`. */
const firstKernel = 25;

/**
 * Whether a browser of this system may ask the network for a name that ends in `.localhost`: Safari asks the system, and others
 * answer it themselves. A link by such a name would then not open, or lead anyone who answers to its code.
 */
export function mayAskForLocalNames(platform: string = process.platform, kernel: string = release()): boolean {
  return platform === "darwin" && Number.parseInt(kernel, 10) < firstKernel;
}
