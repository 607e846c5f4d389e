/**
 * Creates a home with five example repositories and prints commands to try on it.
 *
 *   npm run demo [-- FOLDER]
 *
 * FOLDER must not exist yet. Without it, the home is created in the system's temporary folder.
 */
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fillDemoHome } from "./demo-home.ts";

const [folder] = process.argv.slice(2);
if (folder?.startsWith("-") === true) {
  process.stderr.write(`There is no option ${folder}. To choose the folder of the home: npm run demo -- FOLDER\n`);
  process.exit(2);
}
const home = folder === undefined ? await mkdtemp(join(tmpdir(), "repoconf-demo-")) : resolve(folder);
if (folder !== undefined) await mkdir(home);

await fillDemoHome(home);

// The shell script in scripts/bin is not for Windows.
const bin = join(import.meta.dirname, "bin");
const [path, command] = process.platform === "win32" ? ["", "npx repoconf"] : [` PATH="${bin}:$PATH"`, "repoconf"];
process.stdout.write(`Created a home with five repositories in ${home}

Try it:
  export REPOCONF_HOME="${home}"${path}
  ${command} ui
  ${command} repo list
  ${command} list --repo webshop
  ${command} explain svc.timeout --repo webshop
  ${command} list build --repo compiler
  ${command} history --repo webshop
  ${command} doctor
  ${command} stop
`);
