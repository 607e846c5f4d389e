import { defineConfig } from "vite";

/** Bundles what runs under Node (command line, daemon, typed client) into dist/, so that it needs no node_modules. */
export default defineConfig({
  build: {
    ssr: true,
    target: "node24",
    outDir: "dist",
    emptyOutDir: true,
    minify: false,
    rolldownOptions: {
      input: { repoconf: "main/cli/repoconf.ts", client: "main/client/client.ts" },
      output: { entryFileNames: "[name].js", chunkFileNames: "chunks/[name]-[hash].js" },
    },
  },
  ssr: { noExternal: true },
});
