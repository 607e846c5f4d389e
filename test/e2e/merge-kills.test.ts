import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeCommandHome } from "../helpers/command-home.ts";
import { startDaemonProcess } from "../helpers/daemon-process.ts";

/** The calls of the file system at which the daemon is killed: a merge makes about as many. */
const calls = [1, 3, 6, 10, 15, 21, 28, 36, 45];

test.concurrent.each(calls.map((call, index) => ({ call, when: index % 2 === 0 ? "before" : "after" }) as const))(
  "a merge whose daemon is killed $when call $call loses no value and no folder, and is completed when it is repeated",
  async death => {
    await using home = await makeCommandHome();
    const folder = join(home.workFolder, "one");
    await mkdir(folder);
    const merge = () => home.run(["repo", "merge", "one", "two", "--yes", "--no-start"]);
    {
      await using daemon = await startDaemonProcess(home.homeFolder);
      const owner = await daemon.connect();
      await owner.call("repo/add", { id: "one", name: "One", path: folder });
      await owner.call("repo/add", { id: "two", name: "Two" });
      await owner.call("config/set", { repo: "one", "svc.timeout": 41, "svc.provider": "acme", flush: true });
      await owner.call("config/set", { repo: "two", "svc.timeout": 42, flush: true });
      await daemon.arm(death);
      await merge();
    }
    await using daemon = await startDaemonProcess(home.homeFolder);
    const owner = await daemon.connect();
    const ids = async () => (await owner.call("repo/list")).result.map(({ id }) => id);
    // Whichever step it was, everything is in the one or in the other.
    if ((await ids()).includes("one")) expect(await merge()).toMatchObject({ code: 0 });
    expect((await owner.call("repo/list")).result).toMatchObject([{ id: "two", name: "Two", path: folder }]);
    const { result } = await owner.call("config/list", { repo: "two", stored: true });
    expect(result).toEqual({ svc: { timeout: 42, provider: "acme" } });
    const removed = join(home.homeFolder, "removed");
    const kept = await readdir(removed);
    expect(kept).toHaveLength(1);
    expect(JSON.parse(await readFile(join(removed, kept[0] ?? ""), "utf8"))).toMatchObject({
      name: "One",
      config: { svc: { timeout: 41, provider: "acme" } },
    });
  },
);
