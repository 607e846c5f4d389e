import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../helpers/daemon.ts";
import { projectFolder, repoconfCommand, runProcess } from "../helpers/spawned-daemon.ts";

test("npm start prints commands to try, and they work when pasted", async () => {
  const folder = await mkdtemp(join(tmpdir(), "repoconf-start-"));
  const started = spawn("npm", ["start", "--", "--home", join(folder, "home"), "--port", "0"], {
    cwd: projectFolder,
    detached: true,
  });
  try {
    let output = "";
    started.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    await until(() => /Try it[\s\S]*\n\n/.test(output), "what to try");
    const lines = output.split("\n").filter(line => line.startsWith("  npx repoconf "));
    expect(lines).toHaveLength(3);
    // The real npx would link the project into npm's cache and rebuild dist/ while other tests use it.
    const npx = `npx() { shift; "${process.execPath}" "${repoconfCommand}" "$@"; }`;
    const {
      code,
      output: printed,
      errorOutput,
    } = await runProcess("bash", ["-ec", [npx, "git init -q .", ...lines].join("\n")], { folder });
    expect(errorOutput).toBe("");
    expect(code).toBe(0);
    expect(printed).toContain("Set svc.timeout = 30\n");
    expect(printed).toContain("svc.timeout\t30\tstored\n");
  } finally {
    // End the whole process group: npm, its shell and the daemon.
    if (started.pid !== undefined) process.kill(-started.pid, "SIGTERM");
    await new Promise(resolve => started.once("close", resolve));
    await rm(folder, { recursive: true, force: true });
  }
});
