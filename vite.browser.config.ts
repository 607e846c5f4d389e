import { defineConfig } from "vite";

/** Bundles the typed client for web pages into dist/browser/. */
export default defineConfig({
  build: {
    target: "es2024",
    outDir: "dist/browser",
    minify: false,
    lib: { entry: "main/client/browser.ts", formats: ["es"], fileName: () => "client.js" },
  },
});
