import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  addRepositories,
  addShop,
  type CommandHome,
  makeCommandHome,
  makeServedHome,
  makeShop,
} from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { connect } from "../helpers/patient-client.ts";

const fileOf = (home: CommandHome) => join(home.homeFolder, "repos/shop.json");

/** The lines without times, which differ in every run. */
function withoutTimes(output: string): string[] {
  return output
    .trimEnd()
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .split("\n");
}

describe.concurrent("history on the command line", () => {
  test("history shows what changed, how, by whom and why, newest first", async () => {
    await using home = await makeShop(
      ["svc.timeout=30", "--reason", "slow backup"],
      ["svc.timeout=60", "svc.domain=a"],
    );
    await home.succeed(["unset", "svc.timeout"]);
    expect(withoutTimes(await home.succeed(["history"]))).toEqual([
      "TIME  revision 4  by owner (unset)",
      "  svc.timeout: 60 -> 900 (default)",
      "TIME  revision 3  by owner (set)",
      "  svc.timeout: 30 -> 60",
      `  svc.domain: "" -> a`,
      "TIME  revision 2  by owner (set): slow backup",
      "  svc.timeout: 900 -> 30",
      "TIME  revision 1  by owner (set)",
      "  nothing was stored",
    ]);
    expect(withoutTimes(await home.succeed(["history", "svc.domain"]))).toEqual([
      "TIME  revision 3  by owner (set)",
      `  svc.domain: "" -> a`,
    ]);
    expect(await home.json(["history", "--limit", "1"])).toMatchObject([
      { revision: 4, source: "unset", changes: { svc: { timeout: { value: 900, previous: 60, stored: false } } } },
    ]);
  });

  test("a long history is cut off, with a hint how to see more", async () => {
    await using home = await makeShop();
    using client = await connect({ home: home.homeFolder });
    for (let timeout = 1; timeout <= 21; timeout += 1) await client.set("shop", { "svc.timeout": timeout });
    const { code, output, errorOutput } = await home.run(["history", "--json"]);
    expect([code, JSON.parse(output).length]).toEqual([0, 20]);
    expect(errorOutput).toBe("Older entries: repoconf history --after 3\n");
    const older = await home.json(["history", "--after", "3"]);
    expect(older).toMatchObject([{ revision: 2 }, { revision: 1 }]);
    expect(await home.json(["history", "--limit", "1000"])).toHaveLength(22);
  });

  test("history forget asks for confirmation, says what it cannot erase, and erases values, which restore and undo then name", async () => {
    await using home = await makeShop(["svc.domain=secret.test"], ["svc.domain=open.test"]);
    await home.refuse(1, ["history", "forget", "svc.domain"], /backups[\s\S]*--yes/);
    expect(await home.succeed(["history"])).toContain("secret.test");
    await home.refuse(3, ["history", "forget", "svc.domian", "--yes"], `"svc.domain"`);
    expect(await home.succeed(["history", "forget", "svc.domain", "--yes"])).toContain("Not erased: copies in backups");
    expect(withoutTimes(await home.succeed(["history", "svc.domain"]))).toEqual([
      "TIME  revision 3  by owner (forget)",
      "  svc.domain: older values erased",
      "TIME  revision 3  by owner (set)",
      "  svc.domain: (forgotten) -> open.test",
      "TIME  revision 2  by owner (set)",
      "  svc.domain: (forgotten) -> (forgotten)",
    ]);
    expect(await home.succeed(["list", "svc.domain", "--revision", "2"])).toBe("svc.domain\t(forgotten)\t\n");
    expect(await home.succeed(["diff", "2"])).toBe("svc.domain: (forgotten) -> open.test\n");
    expect(await home.run(["restore", "2", "svc.domain"])).toMatchObject({ code: 3, output: "" });
    // The erased change cannot be undone, and the record of the erasure is not a change.
    expect(await home.run(["undo"])).toMatchObject({ code: 3 });
    const forgotten = "Not restored: svc.domain, because its value at revision 1 was erased.\n";
    expect(await home.succeed(["restore", "1"])).toBe(
      `${forgotten}Nothing to restore: every other value is already as it was at revision 1.\n`,
    );
    await home.succeed(["set", "svc.timeout=30"]);
    expect(await home.json(["restore", "1", "--dry-run"])).toMatchObject({ forgotten: ["svc.domain"] });
    expect(await home.succeed(["restore", "1"])).toBe(`${forgotten}Restored svc.timeout = 900 (default)\n`);
    expect(await home.succeed(["get", "svc.domain"])).toBe("open.test\n");
  });

  test("a damaged journal is printed up to the damage, with exit code 1", async () => {
    await using home = await makeShop(["svc.timeout=1"], ["svc.timeout=2"], ["svc.timeout=3"]);
    const file = join(home.homeFolder, "journal/shop.0-0.jsonl");
    await until(async () => (await readFile(file, "utf8")).includes(`"after":3`), "the journal");
    await writeFile(file, (await readFile(file, "utf8")).replace(`"after":1`, `"after":9`));
    const { code, output, errorOutput } = await home.run(["history"]);
    expect([code, errorOutput]).toEqual([1, expect.stringContaining("line 4")]);
    expect(withoutTimes(output).filter(line => !line.startsWith(" "))).toEqual([
      "TIME  revision 4  by owner (set)",
      "TIME  revision 3  by owner (set)",
    ]);
  });

  test("explain shows who changed a value last, when, how and why", async () => {
    await using home = await makeShop(["svc.timeout=30", "--reason", "slow backup"], ["svc.domain=a"]);
    const lines = withoutTimes(await home.succeed(["explain", "svc.timeout"]));
    expect(lines).toContain("  in          shop (shop), revision 3");
    expect(lines).toContain("  changed     TIME, revision 2, by owner (set)");
    expect(lines).toContain("  reason      slow backup");
    expect(await home.succeed(["explain", "svc.provider"])).toContain("changed     never");
    const wanted = { revision: 2, actor: "owner", source: "set", reason: "slow backup" };
    expect(await home.json(["explain", "svc.timeout"])).toMatchObject(wanted);
  });
});

test.concurrent("diff compares two revisions, one with the current values, or two repositories; with --exit-code it says whether they differ", async () => {
  await using home = await makeShop(["svc.timeout=30", "svc.refresh_hour=4"], ["svc.timeout=60", "svc.domain=a"]);
  expect(await home.succeed(["diff", "1", "2"])).toBe("svc.timeout: 900 (default) -> 30\n");
  expect(await home.succeed(["diff", "2"])).toBe(`svc.timeout: 30 -> 60\nsvc.domain: "" (default) -> a\n`);
  expect(await home.succeed(["diff", "3", "2"])).toBe(`svc.timeout: 60 -> 30\nsvc.domain: a -> "" (default)\n`);
  expect(await home.succeed(["diff", "3", "--exit-code"])).toBe("");
  expect(await home.json(["diff", "1", "2"])).toEqual({
    from: { repo: "shop", revision: 1 },
    to: { repo: "shop", revision: 2 },
    differences: [{ field: "svc.timeout", from: { value: 900, stored: false }, to: { value: 30, stored: true } }],
  });
  expect(await home.run(["diff", "1", "--exit-code"])).toMatchObject({ code: 1, errorOutput: "" });
  expect(await home.run(["diff", "9", "--exit-code"])).toMatchObject({ code: 3, output: "" });
  expect(await home.run(["diff"])).toMatchObject({ code: 2 });
  expect(await home.run(["diff", "1", "--with", "shop"])).toMatchObject({ code: 2 });
  await addRepositories(home, "blog");
  await home.succeed(["set", "--repo", "blog", "svc.domain=a"]);
  expect(await home.succeed(["diff", "--with", "blog"])).toBe("svc.timeout: 60 -> 900 (default)\n");
  expect(await home.succeed(["diff", "--with", "shop", "--repo", "blog"])).toBe("svc.timeout: 900 (default) -> 60\n");
});

describe.concurrent("undo and restore on the command line", () => {
  test("undo reverts the last change, and a second undo restores it", async () => {
    await using home = await makeShop(["svc.timeout=30"], ["svc.timeout=60", "svc.domain=a"]);
    expect(withoutTimes(await home.succeed(["undo", "--dry-run"]))).toEqual([
      "Would undo revision 3 of TIME, by owner (set).",
      "Would restore svc.timeout = 30",
      `Would restore svc.domain = "" (default)`,
    ]);
    expect(withoutTimes(await home.succeed(["undo"]))).toEqual([
      "Undid revision 3 of TIME, by owner (set).",
      "Restored svc.timeout = 30",
      `Restored svc.domain = "" (default)`,
      "This is revision 4; to redo: repoconf undo",
    ]);
    expect(await home.succeed(["list", "--stored"])).toBe("svc.timeout\t30\tstored\n");
    expect(await home.json(["undo"])).toMatchObject({
      repo: "shop",
      revision: 5,
      undone: 4,
      config: { svc: { timeout: { value: 60 }, domain: { value: "a" } } },
    });
    expect(await home.json(["history", "--limit", "2"])).toMatchObject([
      { source: "restore", reason: "undo of revision 4" },
      { source: "restore", reason: "undo of revision 3" },
    ]);
  });

  test("undo reverts a hand edit, also after older values of other fields were erased", async () => {
    await using home = await makeShop(["svc.timeout=30"], ["svc.domain=a.secret"], ["svc.domain=open.test"]);
    const read = () => readFile(fileOf(home), "utf8");
    await until(async () => (await read()).includes("open.test"), "the file");
    await writeFile(fileOf(home), (await read()).replace('"timeout": 30', '"timeout": 31'));
    await until(async () => (await home.succeed(["get", "svc.timeout"])) === "31\n", "the hand edit");
    for (const field of ["svc.domain", "svc.provider"]) await home.succeed(["history", "forget", field, "--yes"]);
    expect(withoutTimes(await home.succeed(["undo"]))).toEqual([
      "Undid revision 5 of TIME, by hand.",
      "Restored svc.timeout = 30",
      "This is revision 6; to redo: repoconf undo",
    ]);
    expect(await read()).toContain(`"timeout": 30`);
  });

  test("undo in a work tree takes back sets; what came with its file, and sets before it, only with --to, which shows it and asks", async () => {
    await using home = await makeServedHome();
    const at = (...args: string[]) => home.succeed(args);
    const undoTo1 = ["undo", "--to", "1"];
    const write = (svc: object) => home.put("../.repoconf.json", { config: { svc } });
    const pull = async (revision: number, svc: object) => {
      await write(svc);
      await until(async () => (await home.json(["history", "--limit", "1"]))[0].revision === revision, "a pull");
    };
    await write({ timeout: 10 });
    await at("repo", "add", ".", "--id", "site");
    await home.refuse(3, ["undo"], "its history starts at revision 1");
    await pull(2, { timeout: 11 });
    await home.refuse(3, ["undo"], /revision 2 \(svc.timeout\) came with .* nothing was set.*undo --to/);
    await at("set", "svc.timeout=12", "svc.domain=mine");
    for (const value of [11, 12]) expect(await at("undo")).toContain(`Restored svc.timeout = ${value}\n`);
    // Another branch that has the same timeout.
    await pull(6, { timeout: 12 });
    await home.refuse(3, ["undo"], /revision 5, revision 6 \(svc.domain\) came with .*undo --to 4\. To change/);
    const { key } = await home.json(["key", "create", "tool", "--field", "svc.timeout", "--right", "write"]);
    await home.refuse(3, ["undo"], "that this key may not read", { environment: { REPOCONF_API_KEY: key } });
    await home.refuse(1, undoTo1, ": svc.timeout: 12 -> 10\nrepoconf: Nothing was changed. Answer yes,");
    expect(await at(...undoTo1, "--dry-run")).toBe("Would restore svc.timeout = 10\n");
    expect(await at(...undoTo1, "--yes")).toBe("Restored svc.timeout = 10\n");
    await home.refuse(2, [...undoTo1, "--batch"], "cannot be used with");
  });

  test("undo with a limited key reverts the last change that it may read, whatever else was changed since", async () => {
    await using home = await makeShop(["svc.timeout=30"]);
    const { key } = await home.json(["key", "create", "tool", "--field", "svc.timeout", "--right", "write"]);
    const environment = { REPOCONF_API_KEY: key };
    await home.succeed(["set", "svc.domain=hidden"]);
    expect(withoutTimes(await home.succeed(["undo"], { environment }))).toEqual([
      "Undid revision 2 of TIME, by owner (set).",
      "Restored svc.timeout = 900 (default)",
      "This is revision 4; to redo: repoconf undo",
    ]);
    await home.succeed(["set", "svc.domain=hidden again"]);
    await home.succeed(["undo"], { environment });
    expect(await home.succeed(["get", "svc.timeout", "svc.domain"])).toBe("30\nhidden again\n");
  });

  test("restore brings back all values of a revision, or only those of the named fields, and says which were so already", async () => {
    await using home = await makeShop(["svc.timeout=30", "svc.domain=a"], ["svc.timeout=60", "svc.domain=b"]);
    expect(await home.succeed(["restore", "2", "svc.timeout", "--dry-run"])).toBe("Would restore svc.timeout = 30\n");
    expect(await home.succeed(["restore", "2", "svc.timeout"])).toBe("Restored svc.timeout = 30\n");
    for (const more of [[], ["--dry-run"]])
      expect(await home.succeed(["restore", "2", "svc.timeout", ...more])).toBe(
        "Nothing to restore: svc.timeout is already as it was at revision 2.\n",
      );
    const defaults = `Restored svc.timeout = 900 (default)\nRestored svc.domain = "" (default)\n`;
    expect(await home.succeed(["restore", "1"])).toBe(defaults);
    expect(await home.succeed(["restore", "1"])).toBe(
      "Nothing to restore: every value is already as it was at revision 1.\n",
    );
    expect(await home.json(["restore", "3", "--reason", "again"])).toMatchObject({
      revision: 6,
      config: { svc: { timeout: { value: 60 } } },
    });
    expect(await home.json(["history", "--limit", "2"])).toMatchObject([
      { revision: 6, reason: "again" },
      { revision: 5, reason: "restore of revision 1" },
    ]);
    expect(await home.json(["list", "--stored", "--revision", "3"])).toEqual({ svc: { timeout: 60, domain: "b" } });
    await home.refuse(3, ["restore", "99"], "newest is 6");
    expect(await home.run(["restore", "svc.timeout"])).toMatchObject({ code: 2 });
    await home.refuse(3, ["restore", "1", "svc.timeot"], `Did you mean "svc.timeout"?`);
    // A stored value that equals the default is not reported as a default.
    await home.succeed(["set", "svc.timeout=900"]);
    await home.succeed(["unset", "svc.timeout"]);
    expect(await home.succeed(["restore", "7"])).toBe("Restored svc.timeout = 900\n");
  });

  test("after records were lost, history, undo and restore say what is not known", async () => {
    await using home = await makeCommandHome();
    await addShop(home, ["svc.timeout=30"], ["svc.timeout=31"]);
    await home.succeed(["stop"]);
    await appendFile(join(home.homeFolder, "journal/shop.0-0.jsonl"), "damaged\nlines\n");
    const lines = withoutTimes(await home.succeed(["history", "--limit", "1"]));
    const [, revision = ""] = /revision (\d+)/.exec(lines[0] ?? "") ?? [];
    expect(lines).toEqual([
      `TIME  revision ${revision}  by a start after records were lost: what changed is not known`,
      "  values as in the file; earlier changes unknown",
    ]);
    await home.refuse(
      3,
      ["undo"],
      `Nothing to undo in shop: what revision ${revision} changed is not known, as records`,
    );
    await home.refuse(
      3,
      ["restore", "2"],
      "The values of revision 2 are not known: records after it are lost or damaged.",
    );
  });

  test("--if-revision changes only at that revision: a conflict reports the current one, with exit code 3; the first cannot be undone", async () => {
    await using home = await makeShop();
    await home.refuse(3, ["undo"], "Nothing to undo in shop: revision 1 changed no field.\n");
    await home.succeed(["set", "svc.timeout=30"]);
    for (const args of [["set", "svc.timeout=1"], ["unset", "svc.timeout"], ["restore", "1"], ["undo"]])
      await home.refuse(3, [...args, "--if-revision", "1"], "revision 2");
    expect(await home.run(["set", "svc.timeout=1", "--if-revision", "two"])).toMatchObject({ code: 2 });
    await home.succeed(["undo", "--if-revision", "2"]);
    expect(await home.succeed(["get", "svc.timeout"])).toBe("900\n");
  });

  test("--json contains the error codes of refused fields along with what was set", async () => {
    await using home = await makeShop();
    const some = await home.run(["set", "svc.timeout=6", "svc.refresh_hour=99", "svc.timeot=1", "--json"]);
    expect(some.code).toBe(3);
    expect(JSON.parse(some.output)).toMatchObject({
      repo: "shop",
      revision: 2,
      config: { svc: { timeout: { value: 6 } } },
      errors: [
        { code: 1007, field: "svc.timeot" },
        { code: 1103, field: "svc.refresh_hour" },
      ],
    });
    expect(some.errorOutput).toContain("svc.refresh_hour must be at most 23");
    const none = await home.run(["set", "svc.refresh_hour=99", "--json"]);
    expect(JSON.parse(none.output)).toEqual({ errors: [expect.objectContaining({ code: 1103 })] });
    expect(await home.json(["set", "svc.timeout=7"])).not.toHaveProperty("errors");
  });
});
