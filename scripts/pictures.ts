/**
 * Takes the pictures of the documents: of the screen with the demo home, of a terminal, and of examples/preview. `npm run pictures`, or `npm run pictures --
 * FOLDER` to write them into another folder. Those of small windows are only for review and are not committed. A picture that a document
 * shows has a .txt with what it says, by which test/screen/pictures.test.ts sees whether it is current.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import { launchBrowser } from "../test/helpers/browser.ts";
import { temporaryFolder } from "../test/helpers/temporary-folder.ts";
import { startPreviewDemo } from "./demo-preview.ts";
import { pictures, picturesInDocuments, startDemo, whatItSays } from "./demo-screen.ts";
import { drawTerminal, recordTerminal } from "./terminal-picture.ts";

const [target] = process.argv.slice(2);
const folder = target === undefined ? join(import.meta.dirname, "../docs/pictures") : resolve(target);
/** Where the home is, as the pictures say. */
const shownHome = "/tmp/repoconf-demo";
const sizes = [
  { width: 1440, height: 900 },
  { width: 900, height: 700 },
  { width: 600, height: 900 },
];

await mkdir(folder, { recursive: true });
await writeFile(join(folder, "terminal.svg"), drawTerminal(await recordTerminal()));
const temporary = await temporaryFolder();
const home = join(temporary.path, "demo");
await mkdir(home);
const demo = await startDemo(home);
await using browser = await launchBrowser();
const shown = await picturesInDocuments();
if (browser === undefined) throw new Error("there is no Chromium to take pictures with");
for (const viewport of sizes) {
  for (const colorScheme of ["light", "dark"] as const) {
    for (const picture of pictures) {
      const { name } = picture;
      const page = await demo.show(picture, browser, { viewport, colorScheme });
      // Wait for events from the daemon and for fonts.
      await page.waitForLoadState("networkidle");
      await showSamePath(page);
      const suffix = viewport.width === 1440 ? "" : `-${viewport.width}`;
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}${suffix}.png`) });
      if (suffix === "" && colorScheme === "light" && shown.includes(name))
        await writeFile(join(folder, `${name}.txt`), await whatItSays(page, shownHome));
      await page.context().close();
    }
  }
}
await demo.close();

const previewFolder = join(temporary.path, "preview");
await mkdir(previewFolder);
const preview = await startPreviewDemo(previewFolder);
for (const width of [1440, 360]) {
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await preview.show(browser, { viewport: { width, height: 900 }, colorScheme });
    const suffix = width === 1440 ? "" : `-${width}`;
    await page.screenshot({ path: join(folder, `preview-${colorScheme}${suffix}.png`), fullPage: true });
    await writeFile(join(folder, "preview.txt"), await preview.whatItSays(page));
    await page.context().close();
  }
}
await preview.close();
await temporary[Symbol.asyncDispose]();
process.exit(0);

/** The home is another folder each time, and a picture of the same page is to be the same: the page shows one path for all. */
async function showSamePath(page: Page): Promise<void> {
  await page.evaluate(`(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(${JSON.stringify(home)}, ${JSON.stringify(shownHome)});
  })()`);
}
