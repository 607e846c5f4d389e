import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { TestClient } from "../helpers/daemon.ts";
import { addLoadScope } from "../helpers/load-scope.ts";
import { amount, judge } from "../helpers/promise.ts";
import { startStage } from "../helpers/stage.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const fields = Array.from({ length: 40 }, (_, index) => `field${index}`);

test("R2 the fields of one set appear together, to clients and in the file, even if the daemon is killed", async () => {
  const wanted = amount(1_500, 10_000);
  const kills = amount(3, 20);
  await using home = await temporaryFolder();
  await addLoadScope(home.path, fields);
  await using stage = await startStage(home.path);
  await (await stage.connect()).call("repo/add", { id: "shop", name: "shop" });

  let reads = 0;
  let fileReads = 0;
  let sets = 0;
  let ended = false;
  const partial: string[] = [];
  const seen = new Set<unknown>();
  /** Runs until the end, reconnecting as often as needed. */
  const client = async (step: (call: TestClient["call"]) => Promise<void>) => {
    while (!ended) {
      const connected = await stage.connect();
      try {
        while (!ended) await step(connected.call);
      } catch {
        // The daemon died.
      }
      connected.socket.close();
    }
  };
  const compare = (values: { readonly [field: string]: unknown }, where: string) => {
    const different = new Set(fields.map(field => values[field]));
    if (different.size !== 1) partial.push(`${where}: ${[...different]}`);
    seen.add([...different][0]);
  };
  const writer = client(async call => {
    const value = `${++sets}`;
    await call("config/set", { repo: "shop", ...Object.fromEntries(fields.map(field => [`load.${field}`, value])) });
  });
  const readers = Array.from({ length: 4 }, () =>
    client(async call => {
      const { result } = await call("config/list", { repo: "shop" });
      reads++;
      compare(result["load"] ?? {}, "a client");
    }),
  );
  const file = (async () => {
    while (!ended) {
      const text = await readFile(join(home.path, "repos/shop.json"), "utf8");
      fileReads++;
      compare(JSON.parse(text).config.load ?? {}, "the file");
      await delay(1);
    }
  })();
  for (let kill = 1; kill <= kills; kill++) {
    const until = reads + wanted / (kills + 1);
    while (reads < until) await delay(1);
    await stage.restart();
  }
  while (reads < wanted) await delay(5);
  ended = true;
  await Promise.all([writer, ...readers, file]);
  const note = `reads by list, and ${fileReads} of the file, during ${sets} sets of ${fields.length} fields and ${kills} kills`;
  judge("R2", reads, partial, note);
  expect(seen.size).toBeGreaterThan(20);
});
