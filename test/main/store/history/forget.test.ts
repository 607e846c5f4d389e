import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { TestDaemonOptions } from "../../../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../../../helpers/file-system.ts";
import { filesBelow } from "../../../helpers/home-files.ts";
import { journalFiles } from "../../../helpers/journal.ts";
import { type Shop, saveByRename, startShop } from "../../../helpers/shop.ts";
import { TestClock } from "../../../helpers/test-clock.ts";

/** Revisions 2 to 5 set the domain to s1.secret, s2.secret and public.test, and the timeout to 31. */
async function startWithSecrets(options: TestDaemonOptions = {}): Promise<Shop> {
  const shop = await startShop(undefined, options);
  for (const domain of ["s1.secret", "s2.secret", "public.test"]) await shop.set({ "svc.domain": domain });
  await shop.set({ "svc.timeout": 31 });
  return shop;
}

const forget = (shop: Shop, field = "svc.domain") => shop.t.owner.call("history/forget", { repo: "shop", field });
const history = (shop: Shop, args = {}) => shop.t.owner.call("history/list", { repo: "shop", ...args });

/** The content of all files in the home. */
async function everything(shop: Shop): Promise<string> {
  return Object.values(await filesBelow(shop.t.homeFolder)).join("\n");
}

describe("history/forget", () => {
  test("removes a field's old values from every file, but not its current value or those of other fields", async () => {
    await using shop = await startWithSecrets();
    expect(await everything(shop)).toContain("s1.secret");
    expect(await forget(shop)).toEqual({ result: {}, errors: [] });
    for (const again of [false, true]) {
      if (again) await shop.t.restart();
      expect(await everything(shop)).not.toContain(".secret");
      const now = [await shop.value("domain"), await shop.value("timeout"), await shop.revision()];
      expect(now).toEqual(["public.test", 31, 5]);
      const { result, errors } = await history(shop);
      expect(errors).toEqual([]);
      const time = expect.stringMatching(/Z$/);
      const unknown = { value: null, previous: null, stored: false, forgotten: true };
      expect(result).toMatchObject([
        { revision: 5, source: "forget", field: "svc.domain", actor: "owner", time, changes: {} },
        { revision: 5, changes: { svc: { timeout: { value: 31, previous: 30 } } } },
        {
          revision: 4,
          changes: { svc: { domain: { value: "public.test", previous: null, stored: true, forgotten: true } } },
        },
        { revision: 3, changes: { svc: { domain: unknown } } },
        { revision: 2, changes: { svc: { domain: unknown } } },
        { revision: 1, changes: { svc: { timeout: { value: 30 }, refresh_day: { value: 2 } } } },
      ]);
      expect(shop.t.log.filter(line => line.includes("damaged"))).toEqual([]);
    }
  });

  test("reads a hand edit that comes between it and the file first, instead of refusing", async () => {
    const fileSystem = watchFileSystem();
    // The file is only written when it has to be.
    await using shop = await startWithSecrets({ fileSystem, clock: new TestClock() });
    await shop.t.owner.call("config/set", { repo: "shop", "svc.timeout": 60 });
    const edited = (await readFile(shop.file, "utf8")).replace(`"refresh_day": 2`, `"refresh_day": 3`);
    let edits = 0;
    fileSystem.before = async ({ operation, path }) => {
      if (operation === "open" && path.endsWith("/tmp/shop.json") && edits++ === 0)
        await saveByRename(shop.file, edited);
    };
    expect((await forget(shop)).errors).toEqual([]);
    expect(edits).toBeGreaterThan(1);
    expect([await shop.value("timeout"), await shop.value("refresh_day")]).toEqual([60, 3]);
    expect(await everything(shop)).not.toContain(".secret");
  });

  test("omits the field from older revisions, and refuses to restore it with 1110", async () => {
    await using shop = await startWithSecrets();
    await forget(shop);
    const { owner } = shop.t;
    for (const revision of [2, 3]) {
      const { result, errors } = await owner.call("config/list", { repo: "shop", revision });
      expect(errors).toEqual([]);
      expect(result["svc"]).toMatchObject({ timeout: 30, refresh_day: 2 });
      expect(result["svc"]).not.toHaveProperty("domain");
    }
    const at4 = await owner.call("config/list", { repo: "shop", revision: 4, stored: true });
    expect(at4.result).toEqual({ svc: { timeout: 30, refresh_day: 2, domain: "public.test" } });
    const named = await owner.call("history/restore", { repo: "shop", to: 2, fields: ["svc.domain"] });
    expect(named).toMatchObject({ errors: [{ code: 1110, field: "svc.domain" }] });
    // A restore without fields skips it.
    expect((await owner.call("history/restore", { repo: "shop", to: 2 })).errors).toEqual([]);
    expect([await shop.value("timeout"), await shop.value("domain")]).toEqual([30, "public.test"]);
  });

  test("can be followed by changes as usual, and repeated", async () => {
    await using shop = await startWithSecrets();
    await forget(shop);
    await shop.set({ "svc.domain": "s3.secret" });
    await shop.set({ "svc.domain": "other.test" });
    await shop.t.restart();
    const at = await shop.t.owner.call("config/list", { repo: "shop", revision: 6, field: "svc.domain" });
    expect(at.result).toEqual({ svc: { domain: "s3.secret" } });
    await forget(shop);
    expect(await everything(shop)).not.toContain(".secret");
    expect(await shop.value("domain")).toBe("other.test");
    const { result } = await history(shop, { field: "svc.domain" });
    const revisions = result.map(({ revision, source }) => `${revision} ${source}`);
    expect(revisions).toEqual(["7 forget", "7 set", "6 set", "5 forget", "4 set", "3 set", "2 set"]);
    await shop.t.restart();
    expect(await shop.revision()).toBe(7);
    // Of a field that is unset no value is left.
    await shop.set({ "svc.domain": "s4.secret" });
    await shop.t.owner.call("config/unset", { repo: "shop", fields: ["svc.domain"] });
    await forget(shop);
    await shop.t.restart();
    expect(await everything(shop)).not.toContain(".secret");
    expect([await shop.value("domain"), await shop.revision()]).toEqual(["", 9]);
  });

  test("also removes values from the kept copy of a damaged journal, and those that an earlier attempt could not remove", async () => {
    const fileSystem = watchFileSystem();
    await using shop = await startWithSecrets({ fileSystem });
    const folder = join(shop.t.homeFolder, "journal");
    await shop.t.daemon.close();
    const [name = ""] = await readdir(folder);
    await writeFile(join(folder, `${name}.damaged`), "s4.secret\n");
    await shop.t.restart();
    fileSystem.before = ({ operation, path }) => {
      if (operation === "unlink" && path.startsWith(folder)) throw systemError("EBUSY");
    };
    expect((await forget(shop)).errors).toMatchObject([{ code: 1108 }]);
    fileSystem.before = () => {};
    await shop.set({ "svc.timeout": 32 });
    expect((await forget(shop)).errors).toEqual([]);
    expect(await everything(shop)).not.toContain(".secret");
    await shop.t.restart();
    expect(await shop.revision()).toBe(6);
  });

  test("loses nothing on a disk that fails at any step: it is done or not, and later sets are kept", async () => {
    const fileSystem = watchFileSystem();
    await using shop = await startWithSecrets({ fileSystem });
    for (let failing = 1; ; failing++) {
      await shop.set({ "svc.domain": `again${failing}.secret` });
      await shop.set({ "svc.domain": "public.test" });
      let call = 0;
      fileSystem.before = () => {
        if (++call === failing) throw systemError("EIO");
      };
      const { errors } = await forget(shop);
      fileSystem.before = () => {};
      if (call < failing) break;
      if (errors.length > 0) expect(errors, `call ${failing}`).toMatchObject([{ code: 1108 }]);
      if (errors.length === 0) expect(await everything(shop), `call ${failing}`).not.toContain(".secret");
      const temporary = (await readdir(join(shop.t.homeFolder, "tmp"))).filter(name => name.startsWith("shop"));
      // Files that a set has just replaced are kept for a moment, except those with forgotten values.
      if (errors.length === 0) expect(temporary, `call ${failing}`).toEqual([]);
      const { result: answer } = await shop.set({ "svc.timeout": 100 + failing });
      await shop.t.restart();
      const { result } = await history(shop);
      expect(result[0], `call ${failing}`).toMatchObject({
        revision: answer[0]?.revision,
        source: "set",
        changes: { svc: { timeout: { value: 100 + failing } } },
      });
      expect(Object.keys(await journalFiles(join(shop.t.homeFolder, "journal")))).toHaveLength(1);
      expect(await shop.value("domain")).toBe("public.test");
      expect((await forget(shop)).errors).toEqual([]);
      expect(await everything(shop)).not.toContain(".secret");
    }
  });
});
