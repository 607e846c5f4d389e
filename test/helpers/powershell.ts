import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** Of a parser in WebAssembly, what these tests use: its own types need those of browsers. */
interface ParsedNode {
  readonly type: string;
  readonly text: string;
  readonly isError: boolean;
  readonly isMissing: boolean;
  readonly startIndex: number;
  readonly endIndex: number;
  readonly startPosition: { readonly row: number };
  readonly children: readonly ParsedNode[];
}

interface TreeSitter {
  readonly Parser: {
    new (): { setLanguage(language: object): void; parse(text: string): { readonly rootNode: ParsedNode } };
    init(): Promise<void>;
  };
  readonly Language: { load(bytes: Uint8Array): Promise<object> };
}

const require = createRequire(import.meta.url);

/** Parses PowerShell by the grammar of tree-sitter: PowerShell itself is not to be had everywhere. */
export async function makePowerShellParser() {
  const { Parser, Language }: TreeSitter = require("web-tree-sitter");
  await Parser.init();
  const grammar = require.resolve("tree-sitter-powershell/tree-sitter-powershell.wasm");
  const parser = new Parser();
  parser.setLanguage(await Language.load(readFileSync(grammar)));
  return (script: string) => {
    // The grammar does not know that PowerShell takes these for plain apostrophes.
    const { rootNode } = parser.parse(script.replace(/[\u2018-\u201b]/g, "'"));
    const nodes = nodesIn(rootNode);
    const textsOf = (type: string) => nodes.filter(node => node.type === type).map(node => node.text);
    return {
      textsOf,
      problems: nodes
        .filter(({ isError, isMissing }) => isError || isMissing)
        .map(({ startPosition, text }) => `line ${startPosition.row + 1}: ${text.slice(0, 80)}`),
      /** The texts of the literals, in order: of two apostrophes inside, the second one counts. */
      literals: nodes
        .filter(({ type }) => type === "verbatim_string_characters")
        .map(({ startIndex, endIndex }) =>
          script.slice(startIndex + 1, endIndex - 1).replace(/['\u2018-\u201b](['\u2018-\u201b])/g, "$1"),
        ),
    };
  };
}

function nodesIn(node: ParsedNode): ParsedNode[] {
  return [node, ...node.children.flatMap(nodesIn)];
}
