/**
 * `node scripts/record-home.ts`: for a new home format N, records a home as this version leaves it in test/homes/format-N.json, which
 * test/promises/r15-older-homes.test.ts opens with later versions. It replaces no recording: once released, they are what users have.
 */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { homeFormat } from "../main/home/prepare-home.ts";
import packageJson from "../package.json" with { type: "json" };
import type { OperationName } from "../shared/protocol.ts";
import { startTestDaemon } from "../test/helpers/daemon.ts";
import { temporaryFolder } from "../test/helpers/temporary-folder.ts";

const printer = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  title: "Printer",
  description: "Where to print.",
  properties: {
    copies: { type: "integer", title: "Copies", description: "How many.", default: 1 },
    name: { type: "string", title: "Name", description: "The name of the printer.", default: "" },
  },
};

const shop = `{
  // The shop, edited by hand.
  "$schema": "../repository.schema.json",
  "name": "shop",
  "config": {
    "svc": {
      "timeout": 10, // seconds
      "domain": "shop.test",
      "services": { "web": { "ready": "/", "image": "web:1" } },
      "default": "web"
    },
    "printer": { "copies": 2 }
  }
}
`;

await using folder = await temporaryFolder();
const home = folder.path;
const write = async (path: string, text: string) => {
  await mkdir(join(home, path, ".."), { recursive: true, mode: 0o700 });
  await writeFile(join(home, path), text, { mode: 0o600 });
};
await write("scopes/printer.schema.json", `${JSON.stringify(printer, null, 2)}\n`);
await write("settings.json", `{\n  "origins": ["http://tool.localhost:3000"]\n}\n`);
await write("repos/shop.json", shop);
await write("repos/cellar.json", `{\n  "name": "The cellar",\n  "path": "/srv/cellar"\n}\n`);
{
  await using t = await startTestDaemon({ home });
  const call = async (name: OperationName, args: { readonly [name: string]: unknown }) => {
    const { errors } = await t.owner.call(name, args);
    if (errors.length > 0) throw new Error(`${name}: ${JSON.stringify(errors)}`);
  };
  await call("repo/add", { id: "empty", name: "nothing stored" });
  await call("config/set", {
    repo: "cellar",
    "svc.envvars": [{ name: "A", value: "1" }],
    "printer.name": "Küche \u2028",
    flush: true,
  });
  await call("config/set", { repo: "cellar", "svc.provider": "me", layer: "local", flush: true });
  await call("config/set", { repo: "shop", "svc.timeout": 60, "printer.copies": 3 });
  await call("config/set", { repo: "shop", "svc.provider": "somebody" });
  await call("config/set", { repo: "shop", "svc.refresh_hour": 5 });
  await call("config/unset", { repo: "shop", fields: ["svc.provider", "svc.refresh_hour"], flush: true });
  await call("key/create", { name: "reader", grants: [{ repos: ["shop"], fields: ["svc.*"], right: "read" }] });
}

// Files that every start writes again are left out.
const ownFiles = /^(repository\.schema\.json|lock|reserve|daemon\.json|audit\.log|tmp|socket)$/;
const files: { [path: string]: string } = {};
for (const entry of await readdir(home, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name)
    .slice(home.length + 1)
    .split(sep)
    .join("/");
  if (entry.isFile() && !ownFiles.test(path.split("/")[0] ?? ""))
    files[path] = await readFile(join(home, path), "utf8");
}
const path = join(import.meta.dirname, `../test/homes/format-${homeFormat}.json`);
const sorted = Object.fromEntries(Object.entries(files).sort(([one], [other]) => (one < other ? -1 : 1)));
await writeFile(path, `${JSON.stringify({ version: packageJson.version, files: sorted }, null, 2)}\n`, { flag: "wx" });
process.stdout.write(`${path}\n`);
