import { app } from "electron";
import packageJson from "../../package.json" with { type: "json" };
import { describeCause } from "../files/describe-cause.ts";
import { boot } from "./boot.ts";

boot({ version: packageJson.version, folder: import.meta.dirname }).catch(async error => {
  const { dialog } = await import("electron");
  dialog.showErrorBox("Repoconf cannot start", describeCause(error));
  app.exit(1);
});
