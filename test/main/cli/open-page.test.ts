import { expect, test } from "vitest";
import { mayResolveLocalhostOverNetwork } from "../../../main/cli/system/localhost-names.ts";
import { opener } from "../../../main/cli/system/open-page.ts";

test("on Windows pages are opened by the system's own explorer, not by one in the current folder", () => {
  expect(opener("win32", { SystemRoot: "D:\\Windows" })).toBe("D:\\Windows\\explorer.exe");
  expect(opener("win32", {})).toBe("C:\\Windows\\explorer.exe");
});

test("on macOS by the system's own program", () => {
  expect(opener("darwin", {})).toBe("/usr/bin/open");
});

test("on Linux by what the PATH has, if there is a display", () => {
  expect(opener("linux", {})).toBeUndefined();
  expect(opener("linux", { DISPLAY: ":0" })).toBe("xdg-open");
});

test.each<[platform: string, kernel: string, may: boolean]>([
  ["darwin", "24.6.0", true],
  ["darwin", "25.0.0", false],
  ["darwin", "26.1.0", false],
  ["linux", "6.1.0-40-amd64", false],
  ["win32", "10.0.26100", false],
])("a browser on %s %s may ask the network for names that end in .localhost: %s", (platform, kernel, may) => {
  expect(mayResolveLocalhostOverNetwork(platform, kernel)).toBe(may);
});
