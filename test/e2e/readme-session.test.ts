import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectFolder } from "../helpers/spawned-daemon.ts";
import { typeSessions } from "../helpers/typed-session.ts";

test("README.md: its session, typed as it stands after its step that puts repoconf on the PATH, prints what it shows", async context => {
  context.skip(process.platform === "win32", "Windows");
  const step = /^export PATH=.*$/m.exec(await readFile(join(projectFolder, "README.md"), "utf8"))?.[0] ?? "";
  expect(step).not.toBe("");
  await typeSessions("README.md", 11, step);
});

// On a Mac the home is elsewhere.
test.skipIf(process.platform !== "linux")(
  "docs/getting-started.md: a day's work, typed as it stands, prints what it shows",
  () => typeSessions("docs/getting-started.md", 15),
);

test.skipIf(process.platform !== "linux")(
  "docs/worktrees.md: a day with three worktrees, typed as it stands, prints what it shows",
  () => typeSessions("docs/worktrees.md", 21),
);
