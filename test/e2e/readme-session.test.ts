import { test } from "vitest";
import { typeSessions } from "../helpers/typed-session.ts";

// On a Mac the home of its own is elsewhere.
test.skipIf(process.platform !== "linux")(
  "README.md: its session, typed as it stands after the step that makes repoconf known, prints what it says",
  () =>
    typeSessions("README.md", 7, {
      alias: /^alias repoconf=.*$/m,
      leftOut: ["repoconf watch"],
      // What a person who edits the file does between two of the commands.
      hand: {
        "repoconf undo":
          'file=$(echo ~/.local/share/repoconf/repos/*.json); sed -i "s/30,/45,/" "$file"; repoconf set svc.refresh_hour=5 > /dev/null',
        "repoconf get svc.timeout": 'sed -i "s/45,/45/" "$file"',
      },
    }),
);

test.skipIf(process.platform !== "linux")(
  "docs/getting-started.md: a day's work, typed as it stands, prints what it says",
  () => typeSessions("docs/getting-started.md", 15),
);
