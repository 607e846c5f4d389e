import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  connectionLost,
  describeScreen,
  fillDrafts,
  openShop,
  poll,
  press,
  reads,
  type ScreenPage,
  startScreen,
  type TestScreen,
} from "../helpers/screen.ts";

const token = { type: "string", default: "", "x-masked": true, title: "Token" };
const scopes = { deploy: { type: "object", properties: { token } } };

/** Waits until the daemon keeps this many drafts. */
async function untilKept({ drafts }: TestScreen, count: number): Promise<void> {
  await poll(async () => (await drafts()).length).toBe(count);
}

/** Writes a comment into the text of a repository's file. */
async function editText(window: ScreenPage, repository: string): Promise<void> {
  await window.choose(repository);
  await window.view("JSON");
  await window.typeAfter("timeout", " // mine");
}

describeScreen("unsaved edits", () => {
  test("are sent before the page unloads, including the last one", async () => {
    const window = await openShop();
    window.page.on("dialog", dialog => void dialog.accept());
    await window.timeout.fill("60");
    await window.page.reload();
    await reads(window.edits, "1 edit, not saved");
  });

  test("are sent before the page unloads, also while an earlier one has no reply yet", async () => {
    const { page, requests, timeout } = await openShop({}, { page: { hold: ["draft/set"] } });
    page.on("dialog", dialog => void dialog.accept());
    await timeout.fill("60");
    await requests.untilHeld();
    await timeout.fill("70");
    await page.reload();
    await poll(() => requests.asked("draft/set")).toBe(2);
  });

  test("discarded while they are being sent do not come back", async () => {
    const { screen, requests, timeout, page, edits } = await openShop({}, { page: { hold: ["draft/set"] } });
    await timeout.fill("60");
    await requests.untilHeld();
    await page.getByRole("button", { name: "Discard all" }).click();
    await edits.waitFor({ state: "detached" });
    requests.release();
    await untilKept(screen, 1);
    // The removal is sent once the response has arrived.
    await requests.untilHeld();
    expect(await edits.count()).toBe(0);
    requests.release();
    await untilKept(screen, 0);
    expect(await edits.count()).toBe(0);
  });

  test("survive the daemon and open in a new tab; a value changed in the meantime is a conflict to resolve", async () => {
    await using screen = await startScreen({
      repositories: { shop: { "svc.timeout": 30 }, store: { "svc.timeout": 30 } },
    });
    {
      await using window = await screen.open({ expected: connectionLost });
      await editText(window, "store");
      await window.choose("shop");
      await window.view("Fields");
      await window.timeout.fill("60");
      await window.provider.fill("here");
      await untilKept(screen, 3);
      await screen.t.restart();
    }
    await screen.set("shop", { "svc.timeout": 45 });
    const file = screen.t.repositoryFile("store");
    await screen.t.writeRepository("store", (await readFile(file, "utf8")).replace("30", "31"));
    await using window = await screen.open();
    await reads(window.edits, "2 edits, not saved");
    // Even before anyone has opened the repository.
    await window.review();
    await reads(window.page.getByRole("dialog"), /45/);
    await press(window.page, "Escape");
    await window.choose("shop");
    await poll(() => window.provider.inputValue()).toBe("here");
    await reads(window.field("Timeout").getByRole("alert").first(), /45/);
    await window.choose("store");
    await window.view("JSON");
    await reads(window.text, "// mine");
    await reads(window.page.getByRole("alert"), "The file was changed elsewhere while you were editing it.");
  });

  test("are the same in two tabs, and neither removes the other's", async () => {
    await using screen = await startScreen({ repositories: { shop: { "svc.timeout": 30 } } });
    await using one = await screen.open();
    await using other = await screen.open();
    for (const window of [one, other]) await window.choose("shop");
    await one.timeout.fill("60");
    await other.provider.fill("here");
    for (const window of [one, other]) {
      await reads(window.edits, "2 edits, not saved");
      await poll(() => window.timeout.inputValue()).toBe("60");
      await poll(() => window.provider.inputValue()).toBe("here");
    }
    await one.page.getByRole("button", { name: "Discard all" }).click();
    await other.edits.waitFor({ state: "detached" });
    await one.page.getByRole("button", { name: "Bring back" }).click();
    await reads(other.edits, "2 edits, not saved");
    await other.save();
    await one.edits.waitFor({ state: "detached" });
    await untilKept(screen, 0);
    // So is the text of a file.
    await one.view("JSON");
    await editText(other, "shop");
    await reads(one.text, "// mine");
  });

  test("of one field in two tabs at once become one, or are told if they are of one member", async () => {
    const properties = { host: { type: "string" }, user: { type: "string" } };
    const site = { type: "object", title: "Site", default: {}, properties };
    await using screen = await startScreen({
      repositories: { shop: { "deploy.site": { host: "a", user: "b" } } },
      scopes: { deploy: { type: "object", properties: { site } } },
    });
    await using first = await screen.open();
    await using second = await screen.open({ hold: ["draft/set"] });
    const boxes =
      ({ page }: ScreenPage) =>
      (member: string) =>
        page.getByRole("textbox", { name: `Site: ${member}` });
    const [box, other] = [boxes(first), boxes(second)];
    for (const window of [first, second]) {
      await window.choose("shop");
      await window.expand("Site");
    }
    const untilMerged = (value: object) =>
      poll(async () => {
        second.requests.release();
        return (await screen.drafts()).find(draft => "field" in draft && draft.field === "deploy.site");
      }).toMatchObject({ value });
    // One that waits for its turn, and one that is being sent.
    for (const [wait, host, user] of [
      [true, "c", "d"],
      [false, "e", "f"],
    ] as const) {
      await (wait ? second.provider : other("user")).fill(user);
      await second.requests.untilHeld();
      await other("user").fill(user);
      await box("host").fill(host);
      await poll(() => other("host").inputValue()).toBe(host);
      expect(await other("user").inputValue()).toBe(user);
      await untilMerged({ host, user });
      await poll(() => box("user").inputValue()).toBe(user);
      expect(await box("host").inputValue()).toBe(host);
    }
    await other("host").fill("mine");
    await second.requests.untilHeld();
    await box("host").fill("theirs");
    await reads(second.messages, "deploy.site of shop was edited in another window at the same time.");
    await untilMerged({ host: "mine", user: "f" });
    await second.messages.getByRole("button", { name: "Take the other" }).click();
    await untilMerged({ host: "theirs", user: "f" });
    for (const shown of [box, other]) await poll(() => shown("host").inputValue()).toBe("theirs");
  });

  test("of masked values stay in the daemon's memory only", async () => {
    await using screen = await startScreen({ repositories: { shop: {} }, scopes });
    const file = join(screen.t.homeFolder, "drafts.json");
    {
      await using window = await screen.open({ expected: connectionLost });
      const secret = window.page.getByRole("textbox", { name: "Token" });
      await window.choose("shop");
      await secret.fill("hush-5d1");
      await window.timeout.fill("60");
      await untilKept(screen, 2);
      expect(await readFile(file, "utf8")).not.toContain("hush");
      await window.page.reload();
      await reads(window.edits, "2 edits, not saved");
      await window.choose("shop");
      await window.field("Token").getByRole("button", { name: "Show values" }).click();
      await poll(() => secret.inputValue()).toBe("hush-5d1");
      await screen.t.restart();
    }
    await using window = await screen.open();
    await reads(window.edits, "1 edit, not saved");
    await window.choose("shop");
    await poll(() => window.timeout.inputValue()).toBe("60");
    expect(await window.page.getByRole("textbox", { name: "Token" }).inputValue()).toBe("");
  });

  test("refused by the daemon stay in the tab, which says so once", async () => {
    await using screen = await startScreen({ repositories: { shop: {}, store: {} } });
    await fillDrafts(screen.t, "store");
    await using window = await screen.open();
    const notice = window.messages.getByText("Your edits are kept in this window only");
    await window.choose("shop");
    await window.timeout.fill("60");
    await notice.waitFor();
    await reads(window.messages, "Too many bytes of drafts");
    await window.messages.getByRole("button", { name: "Close" }).click();
    const refusals = () => screen.t.log.filter(line => /draft\/set.*1107/.test(line)).length;
    await window.provider.fill("there");
    await poll(refusals).toBe(2);
    // It is sent once the window has processed the previous response.
    await window.provider.fill("here");
    await poll(refusals).toBe(3);
    expect(await notice.count()).toBe(0);
    await screen.t.owner.call("draft/set", {
      removed: [0, 1, 2, 3, 4].map(at => ({ repo: "store", field: `svc.f${at}` })),
    });
    await window.timeout.fill("61");
    await poll(screen.drafts).toMatchObject([
      { field: "svc.timeout", value: 61 },
      { field: "svc.provider", value: "here" },
    ]);
  });
});
