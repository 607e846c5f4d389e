import { join } from "node:path";

/** Where the built screen is: beside the built command. */
export const screenFolder = join(import.meta.dirname, "screen");
