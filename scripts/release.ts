/**
 * `npm run release`: writes everything that a release contains besides the installers into release/: the npm package, an SBOM and the
 * checksums of all files there. The release workflow runs it after building the installers, but it works without them too.
 */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { npm, packForTerminal } from "./terminal-package.ts";

const project = join(import.meta.dirname, "..");
const folder = join(project, process.argv[2] ?? "release");
const checksums = "SHA256SUMS";

await mkdir(folder, { recursive: true });
const { filename, unpackedSize } = await packForTerminal(folder);
await writeFile(join(folder, "repoconf.spdx.json"), await npm("sbom", "--sbom-format", "spdx", "--omit", "optional"));
const lines: string[] = [];
for (const entry of (await readdir(folder, { withFileTypes: true })).sort((one, other) =>
  one.name < other.name ? -1 : 1,
)) {
  if (!entry.isFile() || entry.name === checksums) continue;
  const hash = createHash("sha256")
    .update(await readFile(join(folder, entry.name)))
    .digest("hex");
  lines.push(`${hash}  ${entry.name}`);
}
await writeFile(join(folder, checksums), `${lines.join("\n")}\n`);
process.stdout.write(
  `${filename}, ${(unpackedSize / 1024 ** 2).toFixed(1)} MiB unpacked; ${lines.length} files in ${folder}\n`,
);
