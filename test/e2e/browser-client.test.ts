import { join } from "node:path";
import { expect, test } from "vitest";
import type * as BrowserClient from "../../main/client/browser.ts";
import { connectClient } from "../helpers/daemon.ts";
import { projectFolder, spawnDaemon } from "../helpers/spawned-daemon.ts";

test("the client built for web pages needs nothing from Node, and connects with URL and key", async () => {
  await using daemon = await spawnDaemon();
  const owner = await connectClient(daemon.url, daemon.ownerKey);
  await owner.call("repo/add", { name: "shop", id: "shop" });
  owner.socket.close();
  const built: string = join(projectFolder, "dist/browser/client.js");
  const { connect, RepoconfError }: typeof BrowserClient = await import(built);
  using client = await connect({ url: daemon.url, apiKey: daemon.ownerKey });
  await client.set("shop", { "svc.timeout": 12 });
  expect(await client.get("shop", "svc.timeout")).toBe(12);
  const refused = await connect({ url: daemon.url, apiKey: "wrong" }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(RepoconfError);
  expect(refused).toMatchObject({ code: 1100 });
});
