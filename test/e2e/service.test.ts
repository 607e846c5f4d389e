import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type CommandHome, makeCommandHome } from "../helpers/command-home.ts";

const onLinux = test.skipIf(process.platform !== "linux");

/** A fake systemctl that starts and stops what the unit says, unless `broken`. */
async function fakeSystemd(home: CommandHome, broken = false) {
  const bin = join(home.workFolder, "bin");
  const config = join(home.workFolder, "config");
  const unit = join(config, "systemd/user/repoconf.service");
  const said = join(home.workFolder, "said");
  const loaded = join(home.workFolder, "loaded.cjs");
  await writeFile(loaded, `require("node:fs").writeFileSync(__filename + ".done", "")`);
  const program = `#!${process.execPath}
    const { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } = require("node:fs");
    const { spawn } = require("node:child_process");
    const [unit, said, pidFile] = ${JSON.stringify([unit, said, join(home.workFolder, "pid")])};
    const args = process.argv.slice(2).filter(arg => arg !== "--user");
    appendFileSync(said, args.join(" ") + "\\n");
    const pid = existsSync(pidFile) ? Number(readFileSync(pidFile, "utf8")) : 0;
    if (args[0] === "show") console.log("MainPID=" + pid + "\\nResult=" + (${broken} ? "exit-code" : "success"));
    if (args[0] === "restart" || args[0] === "disable") {
      try { if (pid > 0) process.kill(pid); } catch {}
      rmSync(pidFile, { force: true });
    }
    if (args[0] === "restart" && !${broken}) {
      const [, line] = /^ExecStart=(.*)$/m.exec(readFileSync(unit, "utf8"));
      const command = [...line.matchAll(/"((?:[^"\\\\]|\\\\.)*)"/g)].map(([, text]) =>
        text.replace(/\\\\(.)/g, "$1").replaceAll("%%", "%").replaceAll("$$", "$"));
      // Like systemd, pass nothing of the shell's environment, but the login shell's, which desktops give to systemd. HOME is replaced
      // so that tests do not use the person's own.
      const env = { HOME: ${JSON.stringify(home.workFolder)}, NODE_OPTIONS: "--require " + ${JSON.stringify(loaded)} };
      const unset = /^UnsetEnvironment=(.*)$/m.exec(readFileSync(unit, "utf8"));
      for (const name of unset?.[1].split(" ") ?? []) delete env[name];
      const child = spawn(command[0], command.slice(1), { detached: true, stdio: "ignore", env });
      writeFileSync(pidFile, String(child.pid));
      child.unref();
    }
  `;
  await mkdir(bin);
  await writeFile(join(bin, "systemctl"), program, { mode: 0o755 });
  return {
    unit,
    environment: { PATH: `${bin}:${process.env["PATH"]}`, XDG_CONFIG_HOME: config },
    loadedMark: `${loaded}.done`,
    said: async () => (await readFile(said, "utf8")).trim().split("\n"),
    mainPid: async () => Number(await readFile(join(home.workFolder, "pid"), "utf8")),
  };
}

onLinux(
  "service install writes a user unit and starts it without NODE_OPTIONS of the login shell; remove takes it away whole",
  async () => {
    await using home = await makeCommandHome();
    const { unit, environment, said, loadedMark } = await fakeSystemd(home);
    const place = join(home.workFolder, "a home, 100%");
    expect(await home.succeed(["service", "install", "--home", place], { environment })).toContain(unit);
    const text = await readFile(unit, "utf8");
    expect(text).toMatch(/^ExecStart="[^"]+" "[^"]+repoconf\.js" "daemon" "--home" "[^"]+a home, 100%%"$/m);
    // Makes systemd skip the unit once the package is removed.
    expect(text).toMatch(/^ConditionPathExists=.+repoconf\.js$/m);
    expect(await home.succeed(["status", "--home", place])).toContain(place);
    // Its daemon does not load what NODE_OPTIONS of the login shell names.
    await expect(access(loadedMark)).rejects.toMatchObject({ code: "ENOENT" });
    expect(await home.succeed(["service", "remove"], { environment })).toContain("Removed the service");
    // The fake systemctl does not wait until the daemon has stopped, but this does.
    await home.run(["stop", "--home", place]);
    await expect(readFile(unit)).rejects.toMatchObject({ code: "ENOENT" });
    expect(await said()).toEqual(
      expect.arrayContaining(["enable repoconf.service", "restart repoconf.service", "disable --now repoconf.service"]),
    );
  },
);

onLinux("service install takes the place of a daemon that runs on the home of REPOCONF_HOME", async () => {
  await using home = await makeCommandHome();
  const { environment, mainPid, unit } = await fakeSystemd(home);
  await home.succeed(["repo", "add", home.workFolder]);
  const { pid: before } = await home.endpoint();
  const output = await home.succeed(["service", "install"], { environment });
  expect(output).toContain("It replaces the daemon that was running on this home.");
  expect(await readFile(unit, "utf8")).toContain(`"--home" "${home.homeFolder}"`);
  const { pid } = await home.endpoint();
  expect(pid).not.toBe(before);
  expect(pid).toBe(await mainPid());
  // Install it again while it runs.
  await home.succeed(["service", "install"], { environment });
  expect((await home.endpoint()).pid).toBe(await mainPid());
});

onLinux("service install does not say that the daemon runs when the unit's does not", async () => {
  await using home = await makeCommandHome();
  const { environment } = await fakeSystemd(home, true);
  const said = "its daemon is not running. To see why: systemctl --user status repoconf.service";
  await home.refuse(4, ["service", "install"], said, { environment });
});

test("without systemd, service says so and what to do instead", async () => {
  await using home = await makeCommandHome();
  const bin = join(home.workFolder, "empty");
  await mkdir(bin);
  await home.refuse(1, ["service", "install"], "This machine has no systemd", { environment: { PATH: bin } });
});
