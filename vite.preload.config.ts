import { defineConfig } from "vite";

/** Bundles the preload script as a single CommonJS file, which is what a sandboxed preload has to be, for dist/electron/. */
export default defineConfig({
  build: {
    target: "es2024",
    minify: false,
    lib: { entry: "main/electron/preload.ts", formats: ["cjs"], fileName: () => "preload.cjs" },
    rolldownOptions: { external: ["electron"] },
  },
});
