/**
 * Fills a fresh home with a handful of repositories to check, and says what to try on it.
 *
 *   npm run demo [-- FOLDER]
 *
 * FOLDER must not be there yet; without it the home is made in the system's temporary folder.
 */
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fillDemoHome } from "./demo-home.ts";

const [asked] = process.argv.slice(2);
const home = asked === undefined ? await mkdtemp(join(tmpdir(), "repoconf-demo-")) : resolve(asked);
if (asked !== undefined) await mkdir(home);

await fillDemoHome(home);

process.stdout.write(`A home with five repositories stands in ${home}

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
