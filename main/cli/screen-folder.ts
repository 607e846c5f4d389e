import { basename, dirname, join } from "node:path";

const here = import.meta.dirname;

/** Where the built screen is: beside the built command. This is in a chunk of it, one folder further down. */
export const screenFolder = join(basename(here) === "chunks" ? dirname(here) : here, "screen");
