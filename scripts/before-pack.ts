import { join } from "node:path";
import { removeReplacedChunks } from "./publish-build.ts";

/** Called by electron-builder: the app contains only what the last build has made. */
export async function beforePack(): Promise<void> {
  await removeReplacedChunks(join(import.meta.dirname, "../dist"));
}
