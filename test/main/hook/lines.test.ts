import { expect, test } from "vitest";
import { hookLines, hookShells, hookWords } from "../../../main/hook/lines.ts";

test("the lines for a hook's script have the words of their version: raise hookWords with each change of them", () => {
  const asked = { repo: "shop", variables: { A: "a" }, stamps: [{ file: "/f", text: "t" }], note: "n" };
  const answer = { ...asked, needsCommand: true, isTemporary: true, worktree: { folder: "/w", main: "/m" } } as const;
  const known = ["1", "worktree", "at", "watch", "set", "note", "needs_command", "is_temporary", "made"];
  for (const shell of hookShells) {
    const lines = hookLines(answer, shell).split("\n");
    const words = lines.flatMap(line => /^(?:set -g |\$global:)?__repoconf_(\w+)/.exec(line)?.[1] ?? []);
    expect([hookWords, ...words]).toEqual(known);
  }
});
