import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeCommandHome } from "../helpers/command-home.ts";

test.skipIf(process.platform === "win32")(
  "service install writes a user unit and starts it; remove takes it away whole (with a stand-in for systemctl)",
  async () => {
    await using home = await makeCommandHome();
    const bin = join(home.workFolder, "bin");
    await mkdir(bin);
    const said = join(home.workFolder, "said");
    await writeFile(join(bin, "systemctl"), `#!/bin/sh\necho "$@" >> "${said}"\n`);
    await chmod(join(bin, "systemctl"), 0o755);
    const config = join(home.workFolder, "config");
    const environment = { PATH: `${bin}:${process.env["PATH"]}`, XDG_CONFIG_HOME: config };
    const unit = join(config, "systemd/user/repoconf.service");
    const place = join(home.workFolder, "a home, 100%");
    expect(await home.succeed(["service", "install", "--home", place], { environment })).toContain(unit);
    const text = await readFile(unit, "utf8");
    expect(text).toMatch(/^ExecStart="[^"]+" "[^"]+repoconf\.js" "daemon" "--home" "[^"]+a home, 100%%"$/m);
    expect(await home.succeed(["service", "remove"], { environment })).toContain("removed");
    await expect(readFile(unit)).rejects.toMatchObject({ code: "ENOENT" });
    expect((await readFile(said, "utf8")).split("\n")).toEqual(
      expect.arrayContaining(["--user enable --now repoconf.service", "--user disable --now repoconf.service"]),
    );
  },
);

test("where there is no systemd, service says so and what to do", async () => {
  await using home = await makeCommandHome();
  const bin = join(home.workFolder, "empty");
  await mkdir(bin);
  const { code, errorOutput } = await home.run(["service", "install"], { environment: { PATH: bin } });
  expect(code).toBe(1);
  expect(errorOutput).toContain("There is no systemd");
});
