import { expect, test } from "vitest";
import { addScope, makeShop } from "../helpers/command-home.ts";

const texts = { type: ["string", "number", "null"], title: "T", description: "D" };

test("what a set says tells texts from other values, items that were there or replaced, and what to type instead", async () => {
  await using home = await makeShop();
  await addScope(home, "app", {
    note: { ...texts, default: "" },
    list: { type: "array", items: texts, default: [], title: "L", description: "D" },
  });
  const done = (typed: string, output: string) => [0, typed, output, ""] as const;
  const refused = (typed: string, error: string) => [2, typed, "", `repoconf: ${error}\n`] as const;
  const notJson = (typed: string, why: string) =>
    refused(`app.note:=${typed}`, `The value of app.note is not valid JSON: ${why}.`);
  const item = (value: string) => `svc.envvars+={"name":"PORT","value":"${value}"}`;
  for (const [code, typed, output, errorOutput] of [
    done("app.note:=4", "Set app.note = 4\n"),
    done("app.note=4", 'Set app.note = "4"\n'),
    done("app.note=web", "Set app.note = web\n"),
    done("app.list+:=4", "Added 4 to app.list\n"),
    done("app.list+:=4", "Nothing to add: app.list already contains 4\n"),
    done(
      "app.list-=4",
      'Nothing to remove: app.list does not contain "4". It contains 4, which is no text; to remove that: app.list-:=4\n',
    ),
    done("app.list-=5", 'Nothing to remove: app.list does not contain "5"\n'),
    done("app.list-:=4", "Removed 4 from app.list\n"),
    done(item("1"), 'Added {"name":"PORT","value":"••••••"} to svc.envvars\n'),
    done(item("2"), 'Replaced the item of that name in svc.envvars with {"name":"PORT","value":"••••••"}\n'),
    refused("svc.envvars+=PORT=3", "An item of svc.envvars is an object, not a text. To set PORT: svc.envvars.PORT=3"),
    refused(
      "svc.envvars+=web",
      `An item of svc.envvars is an object, not a text. Type it as JSON: svc.envvars+='{"name":"...","value":"..."}'`,
    ),
    notJson("", "the text is empty (line 1, column 1)"),
    notJson("[1", "unexpected end of the text (line 1, column 3)"),
    notJson("{a:1}", "expected a value or a name in double quotes (line 1, column 2)"),
    notJson('{"a":}', "a value is missing (line 1, column 6)"),
    notJson("[1,\n 2 3]", "a comma is missing (line 2, column 4)"),
    notJson("[1,]", "unexpected comma before this ] (line 1, column 4)"),
    notJson("/* no */ 1", "a comment cannot be here (line 1, column 1)"),
    notJson("'web'", "expected a value or a name in double quotes (line 1, column 1)"),
  ])
    expect(await home.run(["set", typed]), typed).toEqual({ code, output, errorOutput });
  expect(await home.succeed(["history", "app.note"])).toContain('app.note: 4 -> "4"');
});
