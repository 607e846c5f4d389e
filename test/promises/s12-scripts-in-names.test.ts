import { expect, test } from "vitest";
import { reportPromise } from "../helpers/promise.ts";
import { rawRequest } from "../helpers/raw-http.ts";
import { describeScreen, reads, startScreen, untilScope } from "../helpers/screen.ts";

/** Each sets `executed` if anything interprets it as more than text. */
const corpus = [
  `<img src=x onerror="window.executed=1">`,
  `<script>window.executed=2</script>`,
  `"><svg/onload=window.executed=3>`,
  `javascript:window.executed=4`,
  `</title></style><iframe srcdoc="<script>parent.executed=5</script>">`,
  `{{constructor.constructor('window.executed=6')()}}`,
  `'-window.executed-'</textarea><details open ontoggle=window.executed=7>`,
  "\u202e<a href=javascript:window.executed=8>click</a>",
];
const all = corpus.join("\n");

const hostile = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: corpus[0],
  description: all,
  type: "object",
  properties: {
    text: { title: corpus[2], description: all, type: "string", default: corpus[1] },
    kind: { title: corpus[4], enum: corpus, default: corpus[0] },
    count: { title: "Count", type: "integer", "x-unit": corpus[2], default: 1 },
    map: { title: "Map", type: "object", additionalProperties: { type: "string", title: corpus[6] }, default: {} },
    link: { title: "Link", type: "string", "x-path": true, default: corpus[3] },
  },
};

/** Only the page's own script files may run: no inline script, and none created from text. */
function isStrict(policy: string): boolean {
  const wanted = ["default-src 'none'", "script-src 'self'", "base-uri 'none'", "require-trusted-types-for 'script'"];
  return wanted.every(part => policy.split("; ").includes(part)) && !/unsafe-(inline|eval|hashes)/.test(policy);
}

describeScreen("text from others", () => {
  test("S12 config text cannot become script: names, values, reasons and the text of a scope are shown as plain text, and nothing in them runs", async () => {
    await using screen = await startScreen({ scopes: { hostile } });
    await untilScope(screen.t, "hostile");
    const { owner } = screen.t;
    const ids: string[] = [];
    for (const name of corpus) {
      const { result, errors } = await owner.call("repo/add", { name });
      expect(errors).toEqual([]);
      ids.push(result.id);
    }
    const [repo = ""] = ids;
    const map = Object.fromEntries(corpus.map(text => [text, text]));
    for (const reason of corpus) {
      const values = {
        "hostile.text": `${all}${reason}`,
        "hostile.map": { ...map, reason },
        "svc.provider": reason,
        "svc.services": { [corpus[1] ?? ""]: { ready: reason, image: all } },
        "svc.envvars": [{ name: "A", value: reason }],
      };
      const { errors } = await owner.call("config/set", { repo, ...values, reason });
      expect(errors).toEqual([]);
    }
    await using window = await screen.open();
    const { page } = window;
    const executed = () => page.evaluate("window.executed");
    const [first = ""] = corpus;
    await window.tree.getByText(first, { exact: true }).click();
    await page.getByRole("heading", { level: 1, name: first }).waitFor();
    await reads(page.getByRole("article"), "onerror");
    for (const summary of await page.locator(".field-summary").all()) await summary.click();
    await page.getByRole("button", { name: "Show values" }).first().click();
    await window.field("Provider").getByRole("textbox").focus();
    await reads(window.inspector, "executed");
    await page.getByRole("searchbox", { name: /^Search/ }).fill("onerror");
    await reads(window.tree, "onerror");
    // A link whose target somebody else named is not rendered as a link.
    expect(await page.locator("a[href^='javascript:']").count()).toBe(0);
    expect(await page.locator("iframe, img").count()).toBe(0);
    await page.getByRole("textbox", { name: "Provider" }).fill(all);
    await page.getByRole("button", { name: "Review" }).click();
    await reads(page.getByRole("dialog"), "onerror");
    await page.keyboard.press("Escape");
    await window.view("History");
    await reads(page.getByRole("region", { name: "History" }), "ontoggle");
    await page.getByRole("button", { name: "Compare revision 3" }).click();
    await page.getByRole("button", { name: "Compare revision 5" }).click();
    await reads(page.getByRole("article"), "executed");
    for (const address of ["#/matrix?q=onerror", "#/activity", "#/keys/new", "#/"]) {
      await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
      await reads(page.getByRole("main"), "onerror");
    }
    await page.keyboard.press("Control+k");
    await page.keyboard.type("img");
    await reads(page.getByRole("dialog"), "onerror");
    await page.keyboard.press("Escape");
    await page.evaluate(`location.hash = "#/repo/${repo}"`);
    await page.getByRole("heading", { level: 1, name: first }).waitFor();
    await window.view("JSON");
    await reads(page.getByRole("textbox", { name: "Text of the file" }), "onerror");
    await page.getByRole("button", { name: "Compare with the active values" }).click();
    await reads(page.getByRole("textbox", { name: "The active values" }), "onerror");
    const ran = await executed();
    // None was stopped only by the policy either: the page's disposal fails at each violation that the browser reports.
    const answer = await rawRequest(screen.t.url, "/", { headers: [`Host: ${screen.t.screenHost}`] });
    const policy = answer.headers.get("content-security-policy") ?? "";
    const failed = (ran === undefined ? 0 : 1) + (isStrict(policy) ? 0 : 1);
    reportPromise({
      row: "S12",
      tried: corpus.length * 13,
      failed,
      note: "combinations of a text and a place, under the strict policy",
    });
    expect(ran).toBeUndefined();
    expect(isStrict(policy)).toBe(true);
  });

  test("S12 a link with a hostile code or location runs nothing either", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    await using window = await screen.open();
    await window.row("shop").waitFor();
    for (const text of corpus) {
      await window.page.goto(`http://${screen.t.screenHost}/#/repo/${encodeURIComponent(text)}/${text}`);
      await window.page.reload();
      await window.row("shop").waitFor();
      expect(await window.page.evaluate("window.executed")).toBeUndefined();
    }
  });
});
