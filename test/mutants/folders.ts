import { killedBy } from "./mutant.ts";

/** Ways for a folder to get the values, the trust or the file of another repository. */
export const mutants = [
  ...killedBy("R20", "test/promises/r20-folders.test.ts", {
    "asking the folder of git whether it names the work tree": [
      {
        file: "main/git/git.ts",
        find: "const isOwn = await namesWorkTree(gitFolder, folder);",
        replace: "const isOwn = true;",
      },
    ],
    "the end of a work tree: a clone belongs to the repository around it": [
      {
        file: "main/git/added-folder.ts",
        find: "await nearest(folder, tree?.folder);",
        replace: "await nearest(folder);",
      },
    ],
    "the command's own check of what a key that is not the owner's is answered": [
      {
        file: "main/cli/connect/repositories.ts",
        find: "(top !== undefined && place !== top && !place.startsWith(join(top, sep)))",
        replace: 'place === ""',
      },
    ],
    "refusing a change where a linked worktree has no values of its own": [
      {
        file: "main/daemon/folders/repository-finder.ts",
        find: "if (worktree === undefined) return id;",
        replace: "return id;",
      },
      {
        file: "main/cli/connect/repositories.ts",
        find: "if (worktree === undefined) return entry;",
        replace: "return entry;",
      },
    ],
  }),
  ...killedBy("R20", "test/main/daemon/worktree-identity.test.ts", {
    "asking git's files before a folder gets what was found by its path": {
      file: "main/daemon/folders/repository-finder.ts",
      find: "if (found === undefined || !(await this.isElsewhere(found.id).catch(cannotUse(found.folder)))) return found;",
      replace: "return found;",
      name: "a stranger's folder in the place of a removed linked worktree",
    },
    "the mark that was left, before another clone is read": {
      file: "main/git/work-tree-folder.ts",
      find: "if (!wasMarked && (isLast || isFirst || root === undefined)) return undefined;",
      replace: "return undefined;",
      name: "a stranger's clone in the place of a main work tree",
    },
  }),
];
