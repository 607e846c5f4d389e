import { defineConfig } from "vite";

/** Bundles the desktop shell's main process for dist/electron/; scripts/build.ts runs it. */
export default defineConfig({
  build: {
    ssr: true,
    target: "node24",
    minify: false,
    rolldownOptions: {
      input: { main: "main/electron/main.ts" },
      external: ["electron"],
      output: { entryFileNames: "[name].js", chunkFileNames: "chunks/[name]-[hash].js" },
    },
  },
  ssr: { noExternal: true, external: ["electron"] },
});
