import { expect, test } from "vitest";
import { startShop } from "../../helpers/shop.ts";

const before = `// The shop's configuration, kept by hand.
{
  "$schema": "../repository.schema.json",
  "name": "shop", // as people call it
  "x-note": ["not ours", 1.50],
  "config": {
    /* other tools' */
    "other": { "b": 1, "a": 2 },
    "svc": {
      "refresh_day": 2, // Tuesday

      // Longer on the slow machine.
      "timeout": 30,
      "domain": "a.test", // goes
      "proxy_aliases": ["x.test", "y.test"]
      // the end of svc
    }
  }
}
// the end
`;
test("setting and then unsetting a field leaves the file unchanged", async () => {
  await using shop = await startShop(before);
  await shop.set({ "svc.proxy_url": "http://a.test" });
  expect(await shop.read()).not.toBe(before);
  await shop.t.owner.call("config/unset", { repo: "shop", fields: ["svc.proxy_url"] });
  expect(await shop.read()).toBe(before);
});

test("setting a value that is already stored does not touch the file, however the value is written there", async () => {
  const odd = before.replace("30", "3e1");
  await using shop = await startShop(odd);
  const { result, errors } = await shop.set({ "svc.timeout": 30, "svc.proxy_aliases": ["x.test", "y.test"] });
  expect(errors).toEqual([]);
  expect(result).toMatchObject([{ revision: 1 }]);
  expect(await shop.read()).toBe(odd);
});

test("a new name and path change only their own text", async () => {
  await using shop = await startShop(before);
  const path = shop.t.homeFolder;
  const reply = await shop.t.owner.call("repo/update", { repo: "shop", name: "the shop", path });
  expect(reply.errors).toEqual([]);
  const text = await shop.read();
  expect(text).toContain(`"name": "the shop", // as people call it`);
  expect(text.replace("the shop", "shop").replace(/,?\s*"path": "[^"]+"/, "")).toBe(before);
});
