/** `npm run icons`: renders the app's icons from renderer/public/icon.svg. Run it after changing the drawing. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { launchBrowser } from "../test/helpers/browser.ts";

const project = join(import.meta.dirname, "..");
const drawing = await readFile(join(project, "renderer/public/icon.svg"), "utf8");
const icons: readonly (readonly [file: string, size: number])[] = [
  ["renderer/public/tray.png", 32],
  ["build/icon.png", 1024],
];
await using browser = await launchBrowser();
if (browser === undefined) throw new Error("there is no Chromium to draw with");
for (const [file, size] of icons) {
  const page = await browser.newPage({ viewport: { width: size, height: size } });
  await page.setContent(`<style>body{margin:0}svg{display:block;width:100vw;height:100vh}</style>${drawing}`);
  await mkdir(join(project, file, ".."), { recursive: true });
  await writeFile(join(project, file), await page.screenshot({ omitBackground: true }));
  await page.close();
}
