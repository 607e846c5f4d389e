import { describe, expect, test } from "vitest";
import { makeServedHome } from "../helpers/command-home.ts";
import { connect } from "../helpers/patient-client.ts";

describe.concurrent("repoconf search", () => {
  test("prints results from all repositories, as text and as JSON", async () => {
    await using home = await makeServedHome();
    await home.succeed(["repo", "add", home.workFolder, "--id", "shop", "--name", "shop"]);
    using client = await connect({ home: home.homeFolder });
    await client.run("repo/add", { name: "blog", id: "blog" });
    await client.set("shop", { "svc.timeout": 30, "svc.envvars": [{ name: "TOKEN", value: "secret" }] });
    const output = await home.succeed(["search", "field:svc.timeout", "modified"]);
    expect(output).toBe("shop\tsvc.timeout\t30\n");
    expect(await home.json(["search", "timeout -shop"])).toEqual([
      { repo: "blog", scope: "svc", field: "timeout", value: 900 },
    ]);
    expect(await home.succeed(["search", "envvars"])).not.toContain("secret");
    expect(JSON.parse(await home.succeed(["search", "--json", "--", "-repo:shop"]))).toEqual([{ repo: "blog" }]);
    const found = [];
    for await (const hit of client.search("svc")) found.push(hit);
    expect(found.length).toBe(2 * 20);
  });

  test("says when there are more results, when there are none, and what is wrong with a query", async () => {
    await using home = await makeServedHome();
    await home.succeed(["repo", "add", home.workFolder]);
    using client = await connect({ home: home.homeFolder });
    for (let index = 1; index < 101; index += 1) await client.run("repo/add", { name: `r${index}` });
    const cut = await home.run(["search", "timeout"]);
    expect(cut.output.trimEnd().split("\n")).toHaveLength(100);
    expect(cut.errorOutput).toContain("There are more results: repoconf search --limit 1000");
    const few = await home.run(["search", "timeout", "--limit", "2"]);
    expect([few.output.trimEnd().split("\n").length, few.errorOutput]).toEqual([2, ""]);
    expect((await home.run(["search", "nowhere"])).errorOutput).toBe("Nothing found.\n");
    await home.refuse(1, ["search", "since:yesterday"], "Write since:7d");
  });
});
