import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { addRepositories, makeCommandHome, withCommand } from "./command-home.ts";
import { until } from "./daemon.ts";
import { freePort } from "./free-port.ts";
import { projectFolder, startProcess } from "./spawned-daemon.ts";

const engine = join(projectFolder, "scripts/stand-in-engine.mjs");
export const folderOfExample = join(projectFolder, "examples/preview");
const web = '{"ready":"true","image":"node:24"}';

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}

/** A home with the repository "shop", whose services the tool previews. */
export async function startPreview(...more: readonly string[]) {
  const home = await makeCommandHome();
  await addRepositories(home, "shop");
  await home.succeed(["set", "--repo", "shop", `svc.services.web=${web}`, "svc.envvars.TOKEN=hunter2"]);
  const containers = join(home.workFolder, "containers");
  await mkdir(containers);
  const { key } = await home.json(["key", "create", "preview", "--right", "read", "--reveal"]);
  const environment = { ...(await withCommand(home)), CONTAINERS: containers, REPOCONF_API_KEY: key };
  const port = await freePort();
  const start = () =>
    startProcess(
      process.execPath,
      [join(folderOfExample, "preview.ts"), "--engine", engine, "--port", String(port), ...more],
      { environment },
    );
  let tool = start();

  /** What a browser gets at this host. */
  const ask = (host: string, path = "/", headers = {}) =>
    new Promise<{ status: number | undefined; text: string; location: string | undefined }>((resolve, reject) => {
      const asked = request({ port, path, headers: { ...headers, Host: host }, agent: false }, async response => {
        const chunks = await response.toArray().catch((error: Error) => {
          reject(error);
          return [];
        });
        resolve({ status: response.statusCode, text: chunks.join(""), location: response.headers.location });
      });
      asked.on("upgrade", async (_response, socket, head) => {
        const chunks = await socket.toArray();
        resolve({ status: 101, text: [head, ...chunks].join(""), location: undefined });
      });
      asked.on("error", reject).end();
    });
  const page = async () => (await ask("localhost").catch(() => undefined))?.text ?? "";
  return {
    home,
    ask,
    page,
    port,
    /** Changes the shop. */
    set: (...changes: readonly string[]) => home.succeed(["set", "--repo", "shop", ...changes]),
    /** Waits until the host is served by a container with this image, and returns what it answers. */
    untilServed: async (host: string, image: string) => {
      let answer: ReturnType<typeof JSON.parse>;
      await until(async () => {
        const { status, text } = await ask(host).catch(() => ({ status: 0, text: "" }));
        answer = status === 200 ? JSON.parse(text) : undefined;
        return answer?.image === image;
      }, `${host} to be served by ${image}: ${tool.errorOutput()}`);
      return answer;
    },
    pidOf: async (service: string) => JSON.parse(await readFile(join(containers, `${service}.json`), "utf8")).pid,
    calls: () => readFile(join(containers, "calls.log"), "utf8"),
    pull: (image: string, digest: string) =>
      writeFile(join(containers, `${image.replaceAll(/\W/g, "_")}.digest`), digest),
    hangUp: () => tool.process.kill("SIGHUP"),
    killTool: async () => {
      tool.process.kill("SIGKILL");
      await tool.ended;
    },
    startTool: () => {
      tool = start();
    },
    [Symbol.asyncDispose]: async () => {
      tool.process.kill("SIGKILL");
      await tool.ended;
      for (const file of await readdir(containers))
        if (file.endsWith(".json")) kill(JSON.parse(await readFile(join(containers, file), "utf8")).pid);
      await home[Symbol.asyncDispose]();
    },
  };
}
