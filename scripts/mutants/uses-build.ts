import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

const built = /\bdist\/(repoconf|chunks|screen|electron|browser|client|types)\b/;

/** Whether a test needs dist/: it, or a file in test/ or scripts/ that it imports, mentions a path in dist/. */
export async function usesBuild(root: string, file: string, seen = new Set<string>()): Promise<boolean> {
  if (seen.has(file)) return false;
  seen.add(file);
  const text = await readFile(join(root, file), "utf8").catch(() => "");
  if (built.test(text)) return true;
  for (const [, path = ""] of text.matchAll(/(?:from|import\() ?"(\.{1,2}\/[^"]+)"/g)) {
    const imported = join(dirname(file), path);
    if (/^(test|scripts)[/\\]/.test(imported) && (await usesBuild(root, imported, seen))) return true;
  }
  return false;
}
