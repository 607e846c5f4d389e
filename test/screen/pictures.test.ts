import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startPreviewDemo } from "../../scripts/demo-preview.ts";
import { pictures, picturesInDocuments, startDemo, whatItSays } from "../../scripts/demo-screen.ts";
import { launchBrowser } from "../helpers/browser.ts";
import { patience } from "../helpers/patience.ts";
import { describeScreen } from "../helpers/screen.ts";
import { projectFolder } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

describeScreen("the pictures of pages in the documents", () => {
  test("are current: their pages say what they said when the pictures were taken (else: npm run pictures)", async () => {
    const shown = await picturesInDocuments();
    expect(shown).toContain("fields");
    await using folder = await temporaryFolder();
    await using browser = await launchBrowser();
    const demo = await startDemo(folder.path);
    try {
      for (const picture of pictures.filter(({ name }) => shown.includes(name))) {
        const recorded = await readFile(join(projectFolder, `docs/pictures/${picture.name}.txt`), "utf8");
        if (browser === undefined) throw new Error("the browser is missing");
        const page = await demo.show(picture, browser, { viewport: { width: 1440, height: 900 } });
        await expect.poll(() => whatItSays(page, folder.path), { timeout: patience }).toBe(recorded);
        await page.context().close();
      }
    } finally {
      await demo.close();
    }
  });

  test("are current: so is the one of examples/preview", async () => {
    expect(await picturesInDocuments()).toContain("preview");
    await using folder = await temporaryFolder();
    await using browser = await launchBrowser();
    const preview = await startPreviewDemo(folder.path);
    try {
      if (browser === undefined) throw new Error("the browser is missing");
      const page = await preview.show(browser, { viewport: { width: 1440, height: 900 } });
      expect(await preview.whatItSays(page)).toBe(
        await readFile(join(projectFolder, "docs/pictures/preview.txt"), "utf8"),
      );
    } finally {
      await preview.close();
    }
  });
});
