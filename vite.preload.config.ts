import { defineConfig } from "vite";

/** Bundles the preload script as a single CommonJS file, which is what a sandboxed preload has to be. */
export default defineConfig({
  build: {
    target: "es2024",
    outDir: "dist/electron",
    emptyOutDir: false,
    minify: false,
    lib: { entry: "main/electron/preload.ts", formats: ["cjs"], fileName: () => "preload.cjs" },
    rolldownOptions: { external: ["electron"] },
  },
});
