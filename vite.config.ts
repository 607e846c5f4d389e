import http from "node:http";
import { defineConfig, type Plugin } from "vite";

/** Bundles everything that runs under Node (command line, daemon, typed client) for dist/, without a need for node_modules. */
export default defineConfig({
  plugins: [plainHttp(), withoutGlobalWebSocket()],
  build: {
    ssr: true,
    target: "node24",
    minify: false,
    rolldownOptions: {
      input: { repoconf: "main/cli/repoconf.ts", client: "main/client/client.ts" },
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: "chunks/[name]-[hash].js",
        // Keep license comments and drop doc comments: the declarations have their own, and every command has to load these files.
        comments: { jsdoc: false },
      },
    },
  },
  ssr: { noExternal: true },
});

/**
 * `import ... from "node:http"` makes Node evaluate every export. The export WebSocket loads all of fetch, which takes a quarter of a
 * command's startup time. Without an import, only the exports in use are evaluated.
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
    load: loaded =>
      loaded === id
        ? `const http = process.getBuiltinModule("node:http");\nexport default http;\nexport const { ${names.join(", ")} } = http;`
        : undefined,
  };
}

/** Even testing for a global WebSocket, which the client does not use under Node, makes Node load fetch. */
function withoutGlobalWebSocket(): Plugin {
  const test = "globalThis.WebSocket || globalThis.MozWebSocket";
  return {
    name: "without-global-web-socket",
    transform(code, id) {
      if (!/engine\.io-client\/build\/esm(-debug)?\/transports\/websocket\.js$/.test(id)) return undefined;
      if (!code.includes(test))
        throw new Error("engine.io-client has changed: find where it tests for a WebSocket now.");
      return code.replace(test, "undefined");
    },
  };
}
