import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inCall } from "../../../main/cli/mcp/call.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";

test.each(["before it begins", "while it runs"])(
  "a tool's call that the client cancels %s sets nothing",
  async when => {
    await using t = await startTestDaemon({});
    await t.addRepository("shop");
    const grants = [{ repos: ["shop"], fields: ["svc.*"], right: "write" }];
    const { result } = await t.owner.call("key/create", { name: "agent", grants, audited: true });
    const keyFile = join(t.homeFolder, "agent.key");
    await writeFile(keyFile, result?.key ?? "", { mode: 0o600 });
    const cancel = new AbortController();
    if (when === "before it begins") cancel.abort();
    const answer = await inCall(
      { home: t.homeFolder, keyFile, start: false, repo: "shop" },
      cancel.signal,
      async ({ client }) => {
        cancel.abort();
        await client.run("config/set", { repo: "shop", "svc.timeout": 1 });
        return { isSet: true };
      },
    );
    expect(answer).toMatchObject({ errors: [{ code: expect.any(Number) }] });
    expect((await t.owner.call("history/list", { repo: "shop" })).result).toHaveLength(1);
  },
);
