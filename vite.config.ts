import { defineConfig, type Plugin } from "vite";

/** Bundles everything that runs under Node (command line, daemon, typed client) for dist/, without a need for node_modules. */
export default defineConfig({
  plugins: [plainBuiltins(false), withoutGlobalWebSocket()],
  build: {
    ssr: true,
    target: "node22",
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
 * `import ... from "node:util"` makes Node evaluate every export, also those that load more when they are read: that of node:http loads all
 * of fetch, that of node:util and of node:crypto a sixth of a command's startup time. Here only those that are used are evaluated; with
 * `isLazy`, a module whose functions are used is not loaded before one of them is called.
 */
export function plainBuiltins(isLazy: boolean): Plugin {
  const prefix = "\0plain-";
  return {
    name: "plain-builtins",
    enforce: "pre",
    // What is required, is the whole module: all of its exports would be evaluated.
    resolveId: (source, _, { kind }) =>
      source.startsWith("node:") && kind !== "require-call" ? `${prefix}${source}` : undefined,
    load: id => {
      if (!id.startsWith(`${prefix}node:`)) return undefined;
      const name = id.slice(prefix.length);
      const module = `process.getBuiltinModule("${name}")`;
      const names = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule(name) ?? {})).flatMap(
        ([property, { value }]) => {
          if (value === undefined || property === "default") return [];
          const isCalled = isLazy && typeof value === "function" && /^[a-z]/.test(property);
          const made = isCalled
            ? `(...args) => ${module}.${property}(...args)`
            : `/*#__PURE__*/ (() => builtin.${property})()`;
          return [`export const ${property} = ${made};`];
        },
      );
      const builtin = `const builtin = /*#__PURE__*/ ${module};`;
      return { code: [builtin, "export default builtin;", ...names].join("\n"), moduleSideEffects: false };
    },
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
