import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startWithWorktrees } from "../../helpers/linked-worktrees.ts";
import { patience } from "../../helpers/patience.ts";

test.each([false, true])(
  "files of local values that a person puts there count in their repositories, and nowhere else (the daemon was away: %s)",
  async isAway => {
    await using world = await startWithWorktrees();
    const { t, at, link } = world;
    const linked = await link("linked");
    await t.owner.call("repo/add", { id: "kept", name: "kept" });
    const before = await readFile(at("main", ".repoconf.json"), "utf8");
    const put = async () => {
      const folder = join(t.homeFolder, "local");
      await mkdir(folder, { recursive: true });
      for (const [index, id] of ["kept", "main", linked, "nobody"].entries())
        await writeFile(join(folder, `${id}.json`), JSON.stringify({ config: { svc: { timeout: index + 1 } } }));
    };
    if (isAway) await t.restart(put);
    else await put();
    const timeouts = (ids: readonly string[]) =>
      Promise.all(
        ids.map(async repo => {
          const { result, layers } = await t.owner.call("config/list", { repo, layers: true });
          return [result["svc"]?.["timeout"], layers?.shared["svc"]?.["timeout"], layers?.local?.["svc"]?.["timeout"]];
        }),
      );
    const expected = [1, 2, 3].map(one => [one, undefined, one]);
    await expect.poll(() => timeouts(["kept", "main", linked]), { timeout: patience }).toEqual(expected);
    // What is left of an earlier repository is not the next one's, and a worktree has its base's.
    await t.owner.call("repo/add", { id: "nobody", name: "nobody" });
    expect(await timeouts(["nobody", await link("second")])).toEqual([
      [900, undefined, undefined],
      [2, undefined, undefined],
    ]);
    expect(await readFile(at("main", ".repoconf.json"), "utf8")).toBe(before);
  },
);
