#!/usr/bin/env node
/*
 * A stand-in for docker, for the tests of examples/preview and `npm run preview`: the same arguments, but a container is a process that answers HTTP requests with
 * what it was given. CONTAINERS is its folder: calls.log has the arguments of each call, NAME.json a container each, IMAGE.digest what
 * `pull` finds.
 */
import { spawn, spawnSync } from "node:child_process";
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const folder = process.env.CONTAINERS;
const [command, ...args] = process.argv.slice(2);
const fileOf = name => join(folder, `${name}.json`);
const read = name => JSON.parse(readFileSync(fileOf(name), "utf8"));
const digestOf = image => {
  const file = join(folder, `${image.replaceAll(/\W/g, "_")}.digest`);
  return existsSync(file) ? readFileSync(file, "utf8") : `sha256:${image}`;
};
const isAlive = file => {
  try {
    const { pid } = JSON.parse(readFileSync(join(folder, file), "utf8"));
    // A process that was killed keeps its number until its parent, here that of all processes, has asked for its exit code.
    const hasEnded =
      existsSync("/proc/self/stat") && /^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
    return !hasEnded && process.kill(pid, 0);
  } catch {
    return false;
  }
};
const say = text => process.stdout.write(`${text}\n`);
const fail = text => {
  process.stderr.write(`${text}\n`);
  process.exit(1);
};

if (command !== "serve") appendFileSync(join(folder, "calls.log"), `${JSON.stringify(process.argv.slice(2))}\n`);
if (command === "run") {
  const image = args.at(-1);
  const given = option => args.flatMap((text, at) => (args[at - 1] === option ? [text] : []));
  const [name] = given("--name");
  const [label] = given("--label");
  const variables = Object.fromEntries(given("--env").map(variable => [variable, process.env[variable]]));
  const description = JSON.stringify({ name, image, digest: digestOf(image), label, variables });
  const child = spawn(process.execPath, [import.meta.filename, "serve", description], {
    detached: true,
    stdio: "ignore",
  });
  child.unref();
  while (!existsSync(fileOf(name))) await new Promise(resolve => setTimeout(resolve, 10));
} else if (command === "serve") {
  const container = JSON.parse(args[0]);
  const server = createServer((request, response) => {
    if (request.url === "/odd") return request.socket.end("HTTP/1.1 099 Odd\r\n\r\n");
    if (request.url === "/dies") return response.write("some", () => request.socket.destroy());
    const { name, image, digest, variables } = container;
    response.end(JSON.stringify({ name, image, digest, variables, url: request.url, host: request.headers.host }));
  });
  server.on("upgrade", (_request, socket) => {
    socket.end("HTTP/1.1 101 Switching Protocols\r\nUpgrade: test\r\nConnection: Upgrade\r\n\r\nupgraded");
  });
  server.listen(0, "127.0.0.1", () => {
    writeFileSync(
      fileOf(container.name),
      JSON.stringify({ ...container, pid: process.pid, port: server.address().port }),
    );
  });
} else if (command === "ps") {
  for (const file of readdirSync(folder))
    if (file.endsWith(".json") && isAlive(file)) say(file.slice(0, -".json".length));
} else if (command === "port") {
  say(`127.0.0.1:${read(args[0]).port}`);
} else if (command === "exec") {
  process.exit(spawnSync(args[1], args.slice(2)).status ?? 1);
} else if (command === "rm") {
  const name = args.at(-1);
  if (!existsSync(fileOf(name))) fail(`no container ${name}`);
  if (isAlive(`${name}.json`)) process.kill(read(name).pid, "SIGKILL");
  rmSync(fileOf(name));
} else if (command === "inspect") {
  const [format, name] = args.slice(-2);
  if (format === "{{.Id}}") say(digestOf(name));
  else say(format === "{{.Image}}" ? read(name).digest : read(name).label.split("=")[1]);
} else if (command === "pull") {
  if (digestOf(args[0]) === "unknown") fail(`no image ${args[0]}`);
} else fail(`unknown command ${command}`);
