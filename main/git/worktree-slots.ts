import { unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { foreignDisks } from "../files/foreign-disks.ts";
import { readForeignText } from "../files/foreign-file.ts";
import { type LinkedWorktree, listedWorktrees } from "./git.ts";

const slotBytes = 64;

/**
 * The number of a linked worktree among those of its repository: the first from 1 that was free when it was first asked for. It is kept in
 * git's folder of the worktree, in `repoconf-slot.<digits>`, so it is free again when git removes that. Undefined if that cannot be written.
 * Call it for one worktree at a time. Throws UnreachableDiskError.
 */
export async function keptSlot({ common, name }: LinkedWorktree, digits: string): Promise<number | undefined> {
  const fileIn = (gitFolder: string) => join(gitFolder, `repoconf-slot.${digits}`);
  const own = fileIn(join(common, "worktrees", name));
  const known = await readSlot(own);
  if (known !== undefined) return known;
  const taken = new Set<number | undefined>();
  for await (const { gitFolder } of listedWorktrees(common)) taken.add(await readSlot(fileIn(gitFolder)));
  let slot = 1;
  while (taken.has(slot)) slot += 1;
  const write = async () => {
    // Not written to: a pipe would block, and a link lead to another file.
    await unlink(own).catch(() => {});
    await writeFile(own, `${slot}\n`, { flag: "wx" });
    return slot;
  };
  return foreignDisks.ask(own, () => write().catch(() => undefined));
}

async function readSlot(path: string): Promise<number | undefined> {
  const text = (await readForeignText(path, { maximumBytes: slotBytes }))?.trim() ?? "";
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : undefined;
}
