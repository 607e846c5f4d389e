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
const home = folder === undefined ? await mkdtemp(join(tmpdir(), "repoconf-demo-")) : resolve(folder);
if (folder !== undefined) await mkdir(home);

await fillDemoHome(home);

process.stdout.write(`Created a home with five repositories in ${home}

Try it:
  export REPOCONF_HOME=${home}
  npx repoconf repo list
  npx repoconf list --repo webshop
  npx repoconf explain svc.timeout --repo webshop
  npx repoconf list build --repo compiler
  npx repoconf doctor
  npx repoconf history --repo webshop
  npx repoconf ui
  npx repoconf stop
`);
