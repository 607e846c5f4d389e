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
} from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import type { RunningProcess } from "../helpers/spawned-daemon.ts";

const secret = "hush-hush";
const properties = {
  token: { type: "string", default: "", "x-masked": true },
  stage: { type: "string", default: "" },
};

/** Starts a watch of the shop, and waits until it tells of sets. */
async function startWatch(home: CommandHome, ...options: readonly string[]): Promise<RunningProcess> {
  const watch = home.start(["watch", "--repo", "shop", ...options]);
  let hour = 0;
  await until(async () => {
    hour = (hour + 1) % 24;
    await home.succeed(["set", `svc.refresh_hour=${hour}`]);
    return watch.output().includes("refresh_hour");
  }, "the watch to begin");
  return watch;
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
    const commands = [
      ["history"],
      ["diff", "2", "3"],
      ["explain", "deploy.token"],
      ["list"],
      ["list", "--stored"],
      ["undo", "--dry-run"],
      ["get", "deploy.token"],
      ["export"],
    ];
    for (const args of commands.flatMap(one => [one, [...one, "--json"]])) {
      const { output, errorOutput } = await home.run(args);
      expect(output + errorOutput, args.join(" ")).not.toContain(secret);
    }
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
  await writeFile(
    join(home.workFolder, "values.json"),
    JSON.stringify({ svc: { envvars: [{ name: "A", value: secret }] } }),
  );
  using watch = await startWatch(home, "--json");
  const printed: [args: readonly string[], isRefused?: boolean][] = [
    [["import", "values.json", "--dry-run", "--json"]],
    [["set", value(`${secret} 1`), "--json"]],
    [["set", `svc.envvars.0.value=${secret} 2`, "--json"]],
    [["set", value(`${secret} 3`), "--dry-run", "--repo", "shop", "--repo", "blog"]],
    [["set", value(`${secret} 3`), "--json", "--repo", "shop", "--repo", "blog", "--yes"]],
    [["undo", "--batch", "--dry-run"]],
    [["undo", "--batch", "--dry-run", "--json"]],
    [["undo", "--batch", "--json", "--yes"]],
    [["list"]],
    [["list", "--json"]],
    [["list", "--with-revision"]],
    [["list", "--stored", "--json"]],
    [["explain", "svc.envvars"]],
    [["explain", "svc.envvars", "--json"]],
    [["history"]],
    [["history", "--json"]],
    [["restore", "1", "--dry-run"]],
    [["diff", "1", "--json"]],
    [["undo", "--dry-run", "--json"]],
    [["restore", "1", "--dry-run", "--json"]],
    [["get", "svc.envvars"], true],
    [["get", "svc.envvars", "--json"], true],
    [["get", "svc.timeout", "svc.envvars"], true],
    [["get", "svc.envvars.0.value"], true],
    [["export"], true],
    [["export", "--format", "env"], true],
    [["export", "--output", "exported.json"], true],
  ];
  for (const [args, isRefused = false] of printed) {
    const { code, output, errorOutput } = await home.run(args);
    expect(output + errorOutput, args.join(" ")).not.toContain(secret);
    expect(code, args.join(" ")).toBe(isRefused ? 3 : 0);
    if (isRefused) expect(errorOutput).toMatch(/svc\.envvars is masked.*--reveal/);
  }
  expect(await home.succeed(["history", "svc.envvars"])).toMatch(/A.* -> .*A.*\(the masked value differs\)$/m);
  const envvars = ["explain", "svc.envvars"];
  for (const args of [
    ["list"],
    ["get", "svc.envvars.0.value"],
    envvars,
    ["export"],
    ["diff", "1"],
    ["history", "--limit", "99"],
  ])
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
  const printed: (readonly string[])[] = [
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
  ];
  for (const args of printed) {
    const { output, errorOutput } = await home.run(args);
    expect(output + errorOutput, args.join(" ")).not.toContain(secret);
  }
  expect(await home.succeed(["get", "deploy.login.password", "--reveal"])).toContain(secret);
});
