import { vi } from "vitest";

/**
 * A mock of main/daemon/http/guard.ts: the real guard, which a test can switch off to show what would get in without it. For
 * `vi.mock("../../main/daemon/http/guard.ts", () => import("../helpers/switched-guard.ts"))`, so that the product has no such switch.
 */
const real = await vi.importActual<typeof import("../../main/daemon/http/guard.ts")>("../../main/daemon/http/guard.ts");

export const guard = { on: true };

export const createGuard: typeof real.createGuard = options => {
  const check = real.createGuard(options);
  return (...request) => (guard.on ? check(...request) : undefined);
};

export const guardLocally: typeof real.guardLocally = request => (guard.on ? real.guardLocally(request) : undefined);

export const { hasOwnOrigin, isOneShot } = real;
