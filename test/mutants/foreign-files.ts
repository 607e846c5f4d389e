import type { Mutant } from "./mutant.ts";

const reader = { promise: "S18", test: "test/main/files/foreign-file.test.ts", file: "main/files/foreign-file.ts" };
const disks = { promise: "S18", test: "test/main/files/foreign-disks.test.ts", file: "main/files/foreign-disks.ts" };
const hook = { promise: "S18", test: "test/e2e/hook.test.ts", file: "main/cli/environment/hook-scripts.ts" };

export const mutants: readonly Mutant[] = [
  {
    ...reader,
    removed: "the check that an opened file is a regular one",
    find: "  const stats = fstatSync(handle.fd);\n  assertRegular(stats);",
    replace: "  const stats = fstatSync(handle.fd);",
    name: "is refused",
  },
  {
    ...reader,
    removed: "the refusal of links",
    find: "followsLinks ? readFlags & ~noFollow : readFlags",
    replace: "readFlags & ~noFollow",
    name: "is refused",
  },
  {
    ...reader,
    removed: "the limit while a file is read that is larger than it says",
    find: "    if (total > maximumBytes)",
    replace: "    if (total > 1_000_000 * maximumBytes)",
    name: "of a file that reports no size",
  },
  {
    ...reader,
    removed: "the check before a device is opened",
    find: "    if (followsLinks) assertRegular(await stat(path));\n",
    replace: "    if (followsLinks) await stat(path);\n",
    name: "a device is not opened",
  },
  {
    ...disks,
    removed: "refusing calls to a disk that does not answer",
    find: "    if (disk.isHung) throw unreachable([name]);\n",
    replace: "",
    name: "the disk is not asked again until the call returns",
  },
  {
    ...disks,
    removed: "leaving half of the threads to other calls",
    find: "Math.floor(threads / 2)",
    replace: "threads",
    name: "at most half of the threads",
  },
  {
    ...disks,
    removed: "running one call of a disk at a time",
    find: "    if (!disk.isBusy && disk.waiting.length === 1) this.#ready.push(disk);",
    replace: "    this.#ready.push(disk);",
    name: "each disk gets one call at a time",
  },
  {
    ...disks,
    removed: "waiting again after this process stood still",
    find: "        if (clock.monotonic() > due + tolerance) return wait();\n",
    replace: "",
    name: "a verdict that comes late",
  },
  {
    ...disks,
    removed: "refusing the calls that wait for a thread when none will be free",
    find: "        if (this.hung.length >= this.#slots) this.#refuseReady();\n",
    replace: "",
    name: "while hanging calls hold half of the threads",
  },
  {
    promise: "S18",
    test: "test/promises/s18-foreign-files.test.ts",
    removed: "replacing what has the name of a mark (the mark is written through a link)",
    edits: [
      { file: "main/git/work-tree.ts", find: "      await unlink(own).catch(() => {});\n", replace: "" },
      { file: "main/git/work-tree.ts", find: ', { flag: "wx" });', replace: ");" },
    ],
    name: "a mark is not written through a link",
  },
  {
    ...hook,
    file: "main/cli/environment/hook-load.ts",
    removed: "the refusal of links where the hook's texts are loaded",
    find: "{ maximumBytes: largestFile }",
    replace: "{ maximumBytes: largestFile, followsLinks: true }",
    name: "whatever is put in place of the file",
  },
  {
    ...hook,
    removed: "the bash hook's refusal of links",
    find: "    if [[ ! -L $1 && -f $1 && -r $1 ]]; then\n      IFS=$'\\\\n'",
    replace: "    if [[ -f $1 && -r $1 ]]; then\n      IFS=$'\\\\n'",
    name: "whatever is put in place of the file",
  },
  {
    promise: "S18",
    test: "test/e2e/cli-daemon.test.ts",
    file: "main/cli/commands/stop.ts",
    removed: "waiting for the end of the process that stops",
    find: "      if (!(await waitForEnd(stopped.pid))) throw new CommandError(stillThere(stopped.pid));\n",
    replace: "",
    name: "does not call a daemon stopped",
  },
];
