import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { repoconfCommand, runProcess } from "../helpers/spawned-daemon.ts";
import { commandTimeOf, compare } from "./compare.ts";
import type { Contender } from "./figures.ts";
import { makeHome, repositoryId } from "./homes.ts";
import type { Machine } from "./machine.ts";
import type { Row, Section } from "./section.ts";

const node = process.execPath;

/** What a person waits for in a shell: a command with an environment, entering a folder, and every prompt. */
export const shell: Section = {
  name: "shell",
  title: "The environment of one repository while the daemon is running: run, env and the shell hook",
  run: async machine => {
    const home = await makeHome(machine, 1);
    await using _daemon = await machine.daemon(home);
    const direnv = machine.has("direnv") ? await makeDirenv(machine) : undefined;
    return [...(await commands(machine, home, direnv)), ...(await prompts(machine, home, direnv))];
  },
};

/** Where a shell is. */
interface Place {
  readonly folder: string;
  readonly environment: { readonly [name: string]: string };
}

/** A folder with an `.envrc` that sets one variable and that direnv allows. */
async function makeDirenv(machine: Machine): Promise<Place> {
  const folder = await machine.newFolder("direnv");
  const environment = {
    XDG_DATA_HOME: join(folder, "data"),
    XDG_CONFIG_HOME: join(folder, "config"),
    DIRENV_LOG_FORMAT: "",
  };
  await writeFile(join(folder, ".envrc"), "export LOG_LEVEL=debug\n");
  await runProcess("direnv", ["allow", folder], { folder, environment });
  return { folder, environment };
}

async function commands(machine: Machine, home: string, direnv: Place | undefined): Promise<Row[]> {
  const contender = (name: string, command: string, args: readonly string[]) =>
    commandTimeOf(machine, name, command, args);
  const others = [
    contender("env LOG_LEVEL=debug true", "env", ["LOG_LEVEL=debug", "true"]),
    contender("node -e 0", node, ["-e", "0"]),
  ];
  if (direnv !== undefined) {
    const variables = Object.entries(direnv.environment).map(([name, value]) => `${name}=${value}`);
    others.push(contender("direnv exec", "env", [...variables, "direnv", "exec", direnv.folder, "true"]));
  }
  const where = ["--home", home, "--repo", repositoryId(0)];
  const compared = others.map(one => ({ contender: one }));
  const run = contender("run", node, [repoconfCommand, "run", ...where, "--", "true"]);
  const env = contender("env", node, [repoconfCommand, "env", ...where]);
  return [
    ...(await compare(machine, "repoconf run -- true", "ms", run, compared)),
    ...(await compare(machine, "repoconf env", "ms", env, compared)),
  ];
}

/** How long the hook delays a prompt of bash, in microseconds. */
async function prompts(machine: Machine, home: string, direnv: Place | undefined): Promise<Row[]> {
  if (!machine.has("bash")) return [];
  const bin = await machine.newFolder("bin");
  await writeFile(join(bin, "repoconf"), `#!/bin/sh\nexec '${node}' '${repoconfCommand}' "$@"\n`);
  await chmod(join(bin, "repoconf"), 0o755);
  const folder = join(bin, "repository");
  await mkdir(folder);
  const environment = { REPOCONF_HOME: home, PATH: `${bin}:${process.env["PATH"]}` };
  await runProcess(join(bin, "repoconf"), ["repo", "add", folder, "--id", "shell"], { environment });
  const list = '[{"name":"LOG_LEVEL","value":"debug"}]';
  await runProcess(join(bin, "repoconf"), ["set", "--repo", "shell", `svc.envvars=${list}`], { environment });

  const prompt = (name: string, tool: "repoconf" | "direnv", enters: boolean, where: Place) =>
    promptOf(machine, { name, tool, enters, where });
  const ours = { folder, environment };
  const others = (enters: boolean) =>
    direnv === undefined
      ? [{ contender: emptyFunction(machine) }]
      : [{ contender: prompt("direnv", "direnv", enters, direnv) }, { contender: emptyFunction(machine) }];
  const staying = prompt("staying", "repoconf", false, ours);
  const entering = prompt("entering", "repoconf", true, ours);
  return [
    ...(await compare(machine, "a prompt in the same folder", "us", staying, others(false))),
    ...(await compare(machine, "the prompt after entering a folder", "us", entering, others(true))),
  ];
}

interface Prompt {
  readonly name: string;
  readonly tool: "repoconf" | "direnv";
  /** Whether the folder was just entered. */
  readonly enters: boolean;
  readonly where: Place;
}

function promptOf(machine: Machine, { name, tool, enters, where }: Prompt): Contender {
  const hook = tool === "repoconf" ? "__repoconf_hook" : "_direnv_hook";
  const setUp = `eval "$(${tool} hook bash)"\ncd '${where.folder}'`;
  // Running the hook outside of the folder makes it load the environment again on return.
  const leave = `cd /; ${hook}; cd '${where.folder}'`;
  return timed(machine, name, where.environment, setUp, enters ? leave : ":", hook, enters ? 3 : 200);
}

/** An empty function, the lower bound of what a prompt can cost. */
function emptyFunction(machine: Machine): Contender {
  return timed(machine, "an empty function", {}, "empty() { :; }", ":", "empty", 200);
}

function timed(
  machine: Machine,
  name: string,
  environment: { readonly [name: string]: string },
  setUp: string,
  before: string,
  hook: string,
  times: number,
): Contender {
  const script = `${setUp}
${hook}
sum=0
for ((turn = 0; turn < ${times}; turn++)); do
  ${before}
  begin=\${EPOCHREALTIME/[.,]/}
  ${hook}
  sum=$((sum + \${EPOCHREALTIME/[.,]/} - begin))
done
echo "took $((sum * 10 / ${times})) tenths"`;
  return {
    name,
    run: async () => {
      const started = await machine.start("bash", ["-c", script], { side: "client", ready: /tenths/, environment });
      await started.stop();
      return Number(/took (\d+) tenths/.exec(started.output)?.[1]) / 10;
    },
  };
}
