import { spawn } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type CommandHome, makeCommandHome } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { repoconfCommand } from "../helpers/spawned-daemon.ts";

const secret = "hush-hush";
const schema = {
  type: "object",
  properties: { token: { type: "string", default: "", "x-masked": true }, stage: { type: "string", default: "" } },
};

function schemaFile(home: CommandHome): string {
  return join(home.homeFolder, "scopes/deploy.schema.json");
}

async function untilScope(home: CommandHome, isThere: boolean): Promise<void> {
  const has = async () => (await home.run(["describe", "deploy.token"])).code === 0;
  await until(async () => (await has()) === isThere, "the scope");
}

test("a watch that began before a scope was there goes by its schema: none of its masked values shows, and the others do", async () => {
  await using home = await makeCommandHome();
  await home.succeed(["repo", "add", "--name", "shop", "--id", "shop", home.workFolder]);
  const watch = spawn(process.execPath, [repoconfCommand, "watch", "--repo", "shop"], {
    env: { ...process.env, REPOCONF_HOME: home.homeFolder },
  });
  let output = "";
  watch.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  try {
    let hour = 0;
    await until(async () => {
      hour = (hour + 1) % 24;
      await home.succeed(["set", `svc.refresh_hour=${hour}`]);
      return output.includes("svc.refresh_hour");
    }, "the watch to begin");
    await writeFile(schemaFile(home), JSON.stringify(schema));
    await untilScope(home, true);
    await home.succeed(["set", `deploy.token=${secret}`]);
    await until(() => output.includes("deploy.token"), "the change");
    expect(output).not.toContain(secret);
    await home.succeed(["set", "deploy.stage=shop.test"]);
    await until(() => output.includes("shop.test"), "a value that is not masked");
  } finally {
    watch.kill();
  }
});

test.each<[title: string, change: (file: string) => Promise<void>]>([
  ["gone", file => rm(file)],
  ["broken", file => writeFile(file, "{")],
])("a masked value stays masked when its schema is %s: in history, diff and explain", async (_title, change) => {
  await using home = await makeCommandHome();
  await home.succeed(["repo", "add", "--name", "shop", "--id", "shop", home.workFolder]);
  await writeFile(schemaFile(home), JSON.stringify(schema));
  await untilScope(home, true);
  await home.succeed(["set", `deploy.token=${secret}`]);
  await home.succeed(["set", `deploy.token=${secret} 2`]);
  await change(schemaFile(home));
  // A daemon that starts with what is there knows no schema of before.
  await home.succeed(["stop"]);
  for (const args of [["history"], ["diff", "2", "3"], ["explain", "deploy.token"], ["list"], ["undo", "--dry-run"]]) {
    const { output, errorOutput } = await home.run(args);
    expect(output + errorOutput, args.join(" ")).not.toContain(secret);
  }
  expect((await home.run(["history"])).output).toContain("deploy.token: •");
  // Whoever asks for it, and programs, get it.
  expect((await home.run(["history", "--reveal"])).output).toContain(secret);
  expect((await home.run(["history", "--json"])).output).toContain(secret);
});
