import { defineConfig } from "vite";

/** Bundles the preload: one CommonJS file, as a sandboxed one must be. */
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
