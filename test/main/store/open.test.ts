import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { realFileSystem } from "../../../main/files/file-system.ts";
import { homeAt } from "../../../main/home/home.ts";
import { prepareHome, privateFile } from "../../../main/home/prepare-home.ts";
import { Scopes } from "../../../main/scopes/scopes.ts";
import { Findings } from "../../../main/store/findings.ts";
import { FileLog } from "../../../main/store/log/file-log.ts";
import { Store } from "../../../main/store/store.ts";
import { TrustedValues } from "../../../main/store/values/trusted-values.ts";
import { systemClock } from "../../../main/time/clock.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

test("a store that cannot start closes its log", async () => {
  await using folder = await temporaryFolder();
  const home = homeAt(join(folder.path, "home"));
  await prepareHome(home);
  await rm(home.repositories, { recursive: true });
  await writeFile(home.repositories, "");
  const onProblem = () => {};
  const common = { paths: home, fileSystem: realFileSystem, clock: systemClock, onProblem };
  const findings = await Findings.open(common);
  const trusted = { trusted: privateFile(home, home.trustFile), plain: privateFile(home, home.plainValuesFile) };
  const trust = await TrustedValues.open(trusted, onProblem, onProblem);
  let isClosed = false;
  const opening = Store.open(
    { ...common, scopes: new Scopes(), trust, findings },
    {
      retention: () => ({ revisions: 10, bytes: 1024 }),
      assertHeld: () => {},
      openLog: async options => {
        const opened = await FileLog.open({ ...options, witnesses: async () => [] });
        const close = opened.log.close.bind(opened.log);
        opened.log.close = async () => {
          isClosed = true;
          await close();
        };
        return opened;
      },
    },
  );
  await expect(opening).rejects.toThrow("ENOTDIR");
  expect(isClosed).toBe(true);
});
