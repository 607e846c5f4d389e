import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { projectFolder } from "./spawned-daemon.ts";

/** A block of code in a document. */
export interface Block {
  readonly document: string;
  /** The word behind the fence: for what is typed, the shell that it is typed in. */
  readonly language: string;
  readonly code: string;
}

/** The documents that people read, as paths in the project. */
const documents = [
  ...(await readdir(projectFolder)).filter(name => name.endsWith(".md")),
  ...(await readdir(join(projectFolder, "docs"))).filter(name => name.endsWith(".md")).map(name => `docs/${name}`),
  "skills/repoconf/SKILL.md",
];

/** All blocks of all documents. */
export const blocks: readonly Block[] = (
  await Promise.all(
    documents.map(async document => {
      const text = await readFile(join(projectFolder, document), "utf8");
      return [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)].map(
        ([, indent = "", language = "", code = ""]) => ({
          document,
          language,
          code: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
        }),
      );
    }),
  )
).flat();
