import { expect, test } from "vitest";
import { problemsIn } from "../../../shared/health.ts";
import { until } from "../../helpers/daemon.ts";
import { deployOf, deployText, replaceDeploy, startDeploy } from "../../helpers/renamed-scope.ts";
import { healthOf } from "../../helpers/shop.ts";

const plain = { zone: { type: "string", default: "" }, jobs: { type: "integer", default: 1 } };
const withFormats = {
  zone: { type: "string", default: "", format: "hostname" },
  jobs: plain.jobs,
};
const misfit = {
  code: 1115,
  field: "deploy.zone",
  line: 7,
  message: "deploy.zone must be a host name such as example.org; it is used all the same.",
};

test("format is checked when a value is set; one that is stored already, or written by hand, is active, with a note, and may be restored", async () => {
  await using t = await startDeploy(plain, deployText.replace("north", "no host!"));
  const { revision } = await deployOf(t);
  await replaceDeploy(t, withFormats);
  const noted = async () => {
    await until(async () => (await healthOf(t, "shop")).length > 0, "the note");
    expect(await deployOf(t)).toMatchObject({ values: { zone: "no host!" } });
    const health = await healthOf(t, "shop");
    expect(health).toMatchObject([misfit]);
    expect(problemsIn(health)).toEqual([]);
  };
  await noted();
  const refused = await t.owner.call("config/set", { repo: "shop", "deploy.zone": "no host either!" });
  expect(refused.errors).toMatchObject([
    { code: 1103, field: "deploy.zone", details: { rule: "format", path: "", given: "string" } },
  ]);
  // Sets of other fields, and of the same value, are taken, and the note stays.
  const others = { "deploy.jobs": 7, "deploy.zone": "no host!" };
  expect((await t.owner.call("config/set", { repo: "shop", ...others, flush: true })).errors).toEqual([]);
  await noted();
  await t.restart();
  await noted();
  for (const bringBack of [
    () => t.owner.call("history/restore", { repo: "shop", to: revision ?? 0, flush: true }),
    () => t.writeRepository("shop", deployText.replace("north", "no host!")),
  ]) {
    const good = { repo: "shop", "deploy.zone": "eu.example.org", flush: true };
    expect((await t.owner.call("config/set", good)).errors).toEqual([]);
    expect(await healthOf(t, "shop")).toEqual([]);
    await bringBack();
    await noted();
  }
});
