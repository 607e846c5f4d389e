import { expect, test } from "vitest";
import { mayResolveLocalhostOverNetwork } from "../../../main/cli/system/localhost-names.ts";

test.each<[platform: string, kernel: string, may: boolean]>([
  ["darwin", "24.6.0", true],
  ["darwin", "25.0.0", false],
  ["darwin", "26.1.0", false],
  ["linux", "6.1.0-40-amd64", false],
  ["win32", "10.0.26100", false],
])("a browser on %s %s may ask the network for names that end in .localhost: %s", (platform, kernel, may) => {
  expect(mayResolveLocalhostOverNetwork(platform, kernel)).toBe(may);
});
