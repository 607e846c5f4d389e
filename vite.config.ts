import http from "node:http";
import { defineConfig, type Plugin } from "vite";

/** Bundles what runs under Node (command line, daemon, typed client) into dist/, so that it needs no node_modules. */
export default defineConfig({
  plugins: [plainHttp(), withoutBrowserSocket()],
  build: {
    ssr: true,
    target: "node24",
    outDir: "dist",
    emptyOutDir: true,
    minify: false,
    rolldownOptions: {
      input: { repoconf: "main/cli/repoconf.ts", client: "main/client/client.ts" },
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: "chunks/[name]-[hash].js",
        // Licences stay. Nobody reads the rest here: declarations have their own, and every command loads these files.
        comments: { jsdoc: false },
      },
    },
  },
  ssr: { noExternal: true },
});

/**
 * `import ... from "node:http"` makes Node read every export, and with the one called WebSocket all of its fetch: a quarter
 * of what a command's start takes. Without an import only what is used is read.
 */
function plainHttp(): Plugin {
  const id = "\0plain-http";
  const names = Object.entries(Object.getOwnPropertyDescriptors(http))
    .filter(([, descriptor]) => "value" in descriptor)
    .map(([name]) => name);
  return {
    name: "plain-http",
    enforce: "pre",
    resolveId: source => (source === "node:http" ? id : undefined),
    load: asked =>
      asked === id
        ? `const http = process.getBuiltinModule("node:http");\nexport default http;\nexport const { ${names.join(", ")} } = http;`
        : undefined,
  };
}

/** Merely asking whether there is a global WebSocket, which the client does not use under Node, makes Node load its fetch too. */
function withoutBrowserSocket(): Plugin {
  const asking = "globalThis.WebSocket || globalThis.MozWebSocket";
  return {
    name: "without-browser-socket",
    transform(code, id) {
      if (!/engine\.io-client\/build\/esm(-debug)?\/transports\/websocket\.js$/.test(id)) return undefined;
      if (!code.includes(asking)) throw new Error("engine.io-client has changed: look what asks for a WebSocket now.");
      return code.replace(asking, "undefined");
    },
  };
}
