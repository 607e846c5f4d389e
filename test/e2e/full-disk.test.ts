import { join } from "node:path";
import { expect, test } from "vitest";
import { makeCommandHome, makeServedHome } from "../helpers/command-home.ts";
import { titleWith } from "../helpers/skips.ts";
import { mountSmallDisk } from "../helpers/small-disk.ts";

await using probe = await makeCommandHome();
const isThere = (() => {
  using disk = mountSmallDisk(join(probe.workFolder, "probe"), 1);
  return disk !== undefined;
})();
const title = (text: string) => titleWith(isThere, "right to mount a disk", text);

test.skipIf(!isThere)(
  title("a home on a disk that is full or can only be read: commands and doctor say so"),
  async () => {
    await using home = await makeCommandHome();
    using disk = mountSmallDisk(join(home.workFolder, "disk"), 2);
    const on = (name: string) => ["--home", join(home.workFolder, "disk", name)];
    await home.succeed(["repo", "list", ...on("home"), "--json"]);
    expect(await home.succeed(["doctor", ...on("home")])).not.toContain("\tdisk\t");
    await home.succeed(["stop", ...on("home")]);
    disk?.fill();
    await home.refuse(4, ["repo", "list", ...on("new")], "its disk is full");
    const ofFull = await home.find(1, ["doctor", ...on("home")]);
    expect(ofFull).toMatch(/^problem\tdisk\t.* cannot be written: its disk is full: \d+ KiB are free\tMake room/m);
    disk?.free();
    disk?.protect(true);
    const readOnly = "its disk can only be read (EROFS)";
    await home.refuse(1, ["repo", "list", ...on("home")], readOnly);
    expect(await home.find(1, ["doctor", ...on("home")])).toContain(`cannot be written: ${readOnly}`);
  },
);

test.skipIf(!isThere)(title("a file that cannot be written is named by status and doctor until it is"), async () => {
  await using home = await makeServedHome();
  const tree = join(home.workFolder, "tree");
  using disk = mountSmallDisk(tree, 2);
  await home.succeed(["repo", "add", tree, "--id", "shop", "--in-tree"]);
  disk?.fill();
  expect(await home.run(["set", "svc.timeout=5", "--repo", "shop"])).toMatchObject({
    errorOutput: expect.stringContaining("ENOSPC"),
  });
  expect(await home.succeed(["status"])).toContain("repoconf doctor");
  expect(await home.find(1, ["doctor"])).toMatch(
    /^problem\trepositories\ttree: The file cannot be written \(ENOSPC\)/m,
  );
  disk?.free();
  await home.succeed(["set", "svc.timeout=6", "--repo", "shop"]);
  expect(await home.succeed(["doctor"])).not.toContain("cannot be written");
});
