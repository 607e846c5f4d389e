import { basename, dirname, join } from "node:path";

const here = import.meta.dirname;

/** The built screen is beside the built command. This code is in a chunk, one folder deeper. */
export const screenFolder = join(basename(here) === "chunks" ? dirname(here) : here, "screen");
