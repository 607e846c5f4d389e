/**
 * Milliseconds until a test gives up waiting, by whatever it waits with. It only stops a test that hangs, and says what it waited for:
 * on a busy machine no test may fail by it. vitest's own limit is longer (vitest.config.ts).
 */
export const patience = Number(process.env["TEST_PATIENCE"] ?? 150_000);
