import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  addRepositories,
  addScope,
  addShop,
  type CommandHome,
  makeCommandHome,
  makeShop,
  startWatch,
} from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";

const secret = "hush-hush";
const properties = {
  token: { type: "string", default: "", "x-masked": true },
  stage: { type: "string", default: "" },
};

/** Runs the commands, and fails if one prints the secret. */
async function expectHidden(home: CommandHome, commands: readonly (readonly string[])[]): Promise<void> {
  for (const args of commands) {
    const { output, errorOutput } = await home.run(args);
    expect(output + errorOutput, args.join(" ")).not.toContain(secret);
  }
}

test("a watch that began before a scope was added uses its schema: it masks the masked values and shows the others", async () => {
  await using home = await makeShop();
  using watch = await startWatch(home);
  await addScope(home, "deploy", properties);
  await home.succeed(["set", `deploy.token=${secret}`]);
  await until(() => watch.output().includes("deploy.token"), "the change");
  expect(watch.output()).not.toContain(secret);
  await home.succeed(["set", "deploy.stage=shop.test"]);
  await until(() => watch.output().includes("shop.test"), "a value that is not masked");
});

test.each<[title: string, change: (file: string) => Promise<void>]>([
  ["gone", file => rm(file)],
  ["broken", file => writeFile(file, "{")],
])(
  "a masked value stays masked when its schema is %s: wherever it could be printed, as JSON too",
  async (_title, change) => {
    await using home = await addShop(await makeCommandHome());
    const file = await addScope(home, "deploy", properties);
    await home.succeed(["set", `deploy.token=${secret}`]);
    await home.succeed(["set", `deploy.token=${secret} 2`]);
    await change(file);
    // After a restart, the daemon does not know the old schema.
    await home.succeed(["stop"]);
    const ofChanges = ["history", "diff 2 3", "explain deploy.token", "undo --dry-run"];
    const commands = [...ofChanges, "list", "list --stored", "get deploy.token", "export"].map(one => one.split(" "));
    await expectHidden(home, [...commands, ...commands.map(one => [...one, "--json"])]);
    expect((await home.run(["history"])).output).toContain("deploy.token: •");
    // With --reveal the value is shown.
    expect((await home.run(["history", "--reveal"])).output).toContain(secret);
    expect((await home.run(["history", "--json", "--reveal"])).output).toContain(secret);
  },
);

test("no command prints a masked value without --reveal, not even as JSON; get and export refuse it and name the option", async () => {
  await using home = await makeShop();
  await addRepositories(home, "blog");
  const value = (text: string) => `svc.envvars=[{"name":"A","value":"${text}"}]`;
  const values = { svc: { envvars: [{ name: "A", value: secret }] } };
  await writeFile(join(home.workFolder, "values.json"), JSON.stringify(values));
  using watch = await startWatch(home, "--json");
  const printing = [
    ["import", "values.json", "--dry-run", "--json"],
    ["set", value(`${secret} 1`), "--json"],
    ["set", `svc.envvars.0.value=${secret} 2`, "--json"],
    ["set", value(`${secret} 3`), "--dry-run", "--repo", "shop", "--repo", "blog"],
    ["set", value(`${secret} 3`), "--json", "--repo", "shop", "--repo", "blog", "--yes"],
    ["undo", "--batch", "--dry-run"],
    ["undo", "--batch", "--dry-run", "--json"],
    ["undo", "--batch", "--json", "--yes"],
    ["list"],
    ["list", "--json"],
    ["list", "--with-revision"],
    ["list", "--stored", "--json"],
    ["explain", "svc.envvars"],
    ["explain", "svc.envvars", "--json"],
    ["history"],
    ["history", "--json"],
    ["restore", "1", "--dry-run"],
    ["diff", "1", "--json"],
    ["undo", "--dry-run", "--json"],
    ["restore", "1", "--dry-run", "--json"],
  ];
  for (const args of printing) expect(await home.succeed(args), args.join(" ")).not.toContain(secret);
  const refused = [
    ["get", "svc.envvars"],
    ["get", "svc.envvars", "--json"],
    ["get", "svc.timeout", "svc.envvars"],
    ["get", "svc.envvars.0.value"],
    ["export"],
    ["export", "--format", "env"],
    ["export", "--output", "exported.json"],
  ];
  await expectHidden(home, refused);
  for (const args of refused) await home.refuse(3, args, /svc\.envvars is masked.*--reveal/);
  expect(await home.succeed(["history", "svc.envvars"])).toMatch(/A.* -> .*A.*\(the masked value differs\)$/m);
  const revealing = [
    "list",
    "get svc.envvars.0.value",
    "explain svc.envvars",
    "export",
    "diff 1",
    "history --limit 99",
  ];
  for (const args of revealing.map(command => command.split(" ")))
    expect(await home.succeed([...args, "--reveal"]), args.join(" ")).toContain(secret);
  await until(() => watch.output().includes("envvars"), "the change");
  expect(watch.output()).not.toContain(secret);
});

test("a value that is masked in part, or through a $ref, is masked in the output of every command", async () => {
  await using home = await makeShop();
  const $defs = { secret: { type: "string", "x-masked": true } };
  const properties = {
    token: { $ref: "#/$defs/secret", default: "" },
    login: { type: "object", properties: { password: { $ref: "#/$defs/secret" } }, default: {} },
    logins: { type: "array", items: { type: "object", properties: { password: $defs.secret } }, default: [] },
  };
  await addScope(home, "deploy", properties, { $defs });
  const values = (text: string) => [
    `deploy.token=${text}`,
    `deploy.login={"password":"${text}"}`,
    `deploy.logins=[{"password":"${text}"}]`,
  ];
  await expectHidden(home, [
    ["set", ...values(`${secret} 1`)],
    ["set", ...values(`${secret} 2`), "--json"],
    ["set", `deploy.login.password=${secret} 3`],
    ["list"],
    ["list", "--json"],
    ["history"],
    ["history", "--json"],
    ["diff", "2"],
    ["diff", "2", "--json"],
    ["undo", "--dry-run"],
    ["search", "password"],
    ["search", "deploy.login"],
    ...["token", "login", "logins"].flatMap(field => [
      ["get", `deploy.${field}`],
      ["explain", `deploy.${field}`],
    ]),
    ["get", "deploy.login.password"],
    ["export"],
  ]);
  expect(await home.succeed(["get", "deploy.login.password", "--reveal"])).toContain(secret);
});
