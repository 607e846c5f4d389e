import { basename, dirname, join } from "node:path";

const here = import.meta.dirname;

/** The built screen is next to the built command; this code may be in a chunk, one folder deeper. */
export const screenFolder = join(basename(here) === "chunks" ? dirname(here) : here, "screen");
