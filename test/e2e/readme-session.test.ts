import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { drawTerminal, linesOfPicture, recordTerminal } from "../../scripts/terminal-picture.ts";
import { hasTerminal } from "../helpers/command-home.ts";
import { titleWith } from "../helpers/skips.ts";
import { projectFolder } from "../helpers/spawned-daemon.ts";
import { plain, sessions, typeSessions } from "../helpers/typed-session.ts";

test("README.md: its session, typed as it stands after its step that puts repoconf on the PATH, prints what it shows", async context => {
  context.skip(process.platform === "win32", "Windows");
  const step = /^export PATH=.*$/m.exec(await readFile(join(projectFolder, "README.md"), "utf8"))?.[0] ?? "";
  expect(step).not.toBe("");
  await typeSessions("README.md", 11, "", step);
});

test.runIf(hasTerminal)(
  titleWith(hasTerminal, "script", "README.md: its picture of a terminal shows what the commands print now"),
  async () => {
    const picture = await readFile(join(projectFolder, "docs/pictures/terminal.svg"), "utf8");
    const now = drawTerminal(await recordTerminal());
    expect(plain(linesOfPicture(now).join("\n"))).toBe(plain(linesOfPicture(picture).join("\n")));
  },
);

// On a Mac the home is elsewhere.
for (const [document, least, before] of sessions.filter(([name]) => name !== "README.md"))
  test.skipIf(process.platform !== "linux")(`${document}: its session, typed as it stands, prints what it shows`, () =>
    typeSessions(document, least, before),
  );
