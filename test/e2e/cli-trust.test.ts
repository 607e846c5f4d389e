import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type CommandHome, makeCommandHome } from "../helpers/command-home.ts";
import { repoconfCommand, runProcess } from "../helpers/spawned-daemon.ts";

const evil = { web: { ready: "true \u202e# \u009b2Khs | lruc\u3164\u00a0", image: "node:24" } };

interface Waiting {
  readonly field: string;
  readonly value: unknown;
  readonly hash: string;
  readonly serving: unknown;
}

/** A folder whose file brings two values that run as commands. */
async function makeSite(home: CommandHome): Promise<string> {
  const folder = join(home.workFolder, "site");
  await mkdir(folder);
  const svc = { timeout: 30, services: evil, envvars: [{ name: "LD_PRELOAD", value: "evil.so" }] };
  await writeFile(join(folder, ".repoconf.json"), JSON.stringify({ config: { svc } }));
  return folder;
}

const waitingIn = async (home: CommandHome, folder: string) =>
  JSON.parse(await home.succeed(["trust", "--json"], { folder })) as readonly Waiting[];

describe("commands that a work tree brings, on the command line", () => {
  test("repo add shows them, with nothing hidden, trusts nothing without a terminal, and says what to do", async () => {
    await using home = await makeCommandHome();
    const folder = await makeSite(home);
    const added = await home.succeed(["repo", "add", folder, "--in-tree"]);
    expect(added).toContain("values that run as commands");
    expect(added).toContain(`+     "ready": "true \\u202e# \\u009b2Khs | lruc\\u3164\\u00a0"`);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the very characters that must not be there.
    expect(added).not.toMatch(/[\u202e\u0080-\u00a0\u001b\u3164]/);
    expect(added).toMatch(/2 are not used until you trust them, on a terminal: repoconf trust --repo [0-9a-f]{24}/);
    expect(await home.succeed(["get", "svc.services"], { folder })).toBe("{}\n");
    expect(await home.succeed(["repo", "list"])).toContain("2 problems, waits for trust");
    const doctor = await home.run(["doctor"]);
    expect(doctor.code).toBe(1);
    expect(doctor.output).toMatch(/svc\.services runs as a command.*repoconf trust --repo/);
    const shown = await home.run(["trust", "svc.envvars"], { folder });
    expect(shown.code).toBe(1);
    expect(shown.output).toContain("evil.so");
    expect(shown.output).not.toContain("svc.services");
  });

  test("--accept trusts what has this hash and nothing else; a hash that waits no more is refused", async () => {
    await using home = await makeCommandHome();
    const folder = await makeSite(home);
    await home.succeed(["repo", "add", folder, "--in-tree", "--json"]);
    const [services, envvars] = await waitingIn(home, folder);
    expect(services).toMatchObject({ field: "svc.services", value: evil, serving: {} });
    const accept = ["trust", "--accept", services?.hash ?? ""];
    expect(await home.run([...accept, "--accept", "0"], { folder })).toMatchObject({
      code: 3,
      errorOutput: expect.stringContaining("No value with the hash 0"),
    });
    expect(await home.succeed(accept, { folder })).toBe("Trusted svc.services; it is in service by revision 2.\n");
    expect(JSON.parse(await home.succeed(["get", "svc.services"], { folder }))).toEqual(evil);
    expect(await waitingIn(home, folder)).toEqual([envvars]);
    expect((await home.run(accept, { folder })).code).toBe(3);
    expect((await home.run(["trust", "svc.services"], { folder })).errorOutput).toContain("Nothing waits");
    await home.succeed(["trust", "--accept", envvars?.hash ?? ""], { folder });
    expect(await home.succeed(["trust"], { folder })).toBe("Nothing waits to be trusted.\n");
    expect((await home.run(["doctor"])).output).not.toContain("runs as a command");
  });

  const script = "/usr/bin/script";
  const hasTerminal = process.platform === "linux" && existsSync(script);
  test.skipIf(!hasTerminal)("on a terminal each is asked about, and no is the answer unless it is yes", async () => {
    await using home = await makeCommandHome();
    const folder = await makeSite(home);
    await home.succeed(["repo", "add", folder, "--in-tree", "--json"]);
    const command = `"${process.execPath}" "${repoconfCommand}" trust`;
    // A real terminal of its own: what is typed is there before it is asked for.
    const answer = (input: string) =>
      runProcess(script, ["--quiet", "--return", "--command", command, "/dev/null"], {
        folder,
        input,
        environment: { REPOCONF_HOME: home.homeFolder },
      });
    expect((await answer("\n\n")).output).toContain("Trust this value of svc.services? [y/N]");
    // The end of the input is no for all that is left.
    expect((await answer("")).output).toContain("2 are not used until you trust them");
    expect(await waitingIn(home, folder)).toHaveLength(2);
    await answer("y\nn\n");
    expect((await waitingIn(home, folder)).map(({ field }) => field)).toEqual(["svc.envvars"]);
  });
});
