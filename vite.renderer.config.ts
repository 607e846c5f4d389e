import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** Bundles the screen for dist/screen/, which the daemon serves; scripts/build.ts runs it. */
export default defineConfig({
  root: "renderer",
  base: "/",
  plugins: [react()],
  build: {
    target: "es2024",
    // The page's Content Security Policy allows no inline scripts.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1_500,
  },
});
