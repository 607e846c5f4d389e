import { open, rename } from "node:fs/promises";
import { join } from "node:path";

/** The minimum of calls for a durable replacement of a file. */
export async function writeDurably(folder: string, name: string, text: string): Promise<void> {
  const temporary = join(folder, `${name}.tmp`);
  const file = await open(temporary, "w", 0o600);
  await file.writeFile(text);
  await file.sync();
  await file.close();
  await rename(temporary, join(folder, name));
  const entries = await open(folder, "r");
  await entries.sync();
  await entries.close();
}
