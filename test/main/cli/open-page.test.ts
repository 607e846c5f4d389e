import { expect, test } from "vitest";
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
