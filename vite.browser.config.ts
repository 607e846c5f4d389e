import { defineConfig } from "vite";

/** Bundles the typed client for web pages for dist/browser/; scripts/build.ts runs it. */
export default defineConfig({
  build: {
    target: "es2024",
    minify: false,
    lib: { entry: "main/client/browser.ts", formats: ["es"], fileName: () => "client.js" },
  },
});
