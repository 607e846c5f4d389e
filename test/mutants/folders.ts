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
    "values of its own for a linked worktree": [
      {
        file: "main/daemon/folders/repository-finder.ts",
        find: "if (own !== undefined) return { id: own };",
      },
    ],
  }),
  ...killedBy("R20", "test/main/daemon/worktrees.test.ts", {
    "the base's trust for a worktree": {
      file: "main/store/state/repository-context.ts",
      find: "return (this.files.content.metadata ?? this.current).base ?? this.id;",
      replace: "return this.id;",
      name: "what a person has accepted counts in all work trees",
    },
    "the base's grants for a worktree": {
      file: "main/daemon/folders/worktrees.ts",
      find: "...repos.flatMap(repo => all.get(repo) ?? [])",
      name: "a key that may read the base attaches it and has the base's rights",
    },
    "the mark of the base before a worktree is detached": {
      file: "main/daemon/folders/worktree-place.ts",
      find: "if (repositories.has(base) && !isSeen) return true;",
      name: "moved with git, and detached when git lists it no more",
    },
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
    "the worktree's own mark, for one that was made again": {
      file: "main/store/hand-edits/own-folder.ts",
      find: "const isOurs = isMarked && (base === undefined || linked !== undefined);",
      replace: "const isOurs = base !== undefined && linked !== undefined;",
      name: "a worktree that is removed and made again at once",
    },
    "refusing to move a worktree's entry to another folder": {
      file: "main/daemon/operations/repo.ts",
      find: "if (folder) await finder.assertPlaceOf(id, folder);",
      name: "the entry of a linked worktree cannot be moved",
    },
  }),
];
