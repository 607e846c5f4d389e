import { killedBy } from "./mutant.ts";

/** Ways to be harmed by files and disks of others: S18. */
export const mutants = [
  ...killedBy("S18", "test/main/files/foreign-file.test.ts", {
    "the check that an opened file is a regular one": {
      find: "      assertRegular(fstatSync(handle.fd));\n",
      replace: "",
      name: "is refused",
      file: "main/files/foreign-file.ts",
    },
    "the refusal of links": {
      find: "followsLinks ? readFlags & ~noFollow : readFlags",
      replace: "readFlags & ~noFollow",
      name: "is refused",
      file: "main/files/foreign-file.ts",
    },
    "the limit while a file is read that is larger than it says": {
      find: "    if (total > maximumBytes)",
      replace: "    if (total > 1_000_000 * maximumBytes)",
      name: "of a file that reports no size",
      file: "main/files/foreign-file.ts",
    },
  }),
  ...killedBy("S18", "test/main/files/foreign-disks.test.ts", {
    "refusing calls to a disk that does not answer": {
      file: "main/files/foreign-disks.ts",
      find: "    if (disk.isHung) throw unreachable([name]);\n",
      name: "the disk is not asked again until the call returns",
    },
  }),
  ...killedBy("S18", "test/e2e/hook.test.ts", {
    "the bash hook's refusal of links": {
      file: "main/cli/hook/hook-bash.ts",
      find: "  if [[ ! -L $1 && -f $1 && -r $1 ]]; then",
      replace: "  if [[ -f $1 && -r $1 ]]; then",
      name: "whatever is put in place of the file",
    },
  }),
];
