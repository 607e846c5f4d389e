import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import {
  bracketMatching,
  defaultHighlightStyle,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** The page's nonce: its policy allows no other styles. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--ink)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--edited)" },
  { tag: tags.comment, color: "var(--ink-soft)", fontStyle: "italic" },
]);

const theme = EditorView.theme({
  "&": {
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--radius)",
    backgroundColor: "var(--paper-raised)",
    color: "var(--ink)",
  },
  "&.cm-focused": { outline: "var(--focus)", outlineOffset: "1px" },
  ".cm-content": { fontFamily: "var(--mono)", fontSize: "0.8125rem", caretColor: "var(--ink)" },
  ".cm-gutters": {
    fontFamily: "var(--mono)",
    fontSize: "0.8125rem",
    backgroundColor: "transparent",
    color: "var(--ink-soft)",
    border: "none",
  },
  ".cm-activeLine, .cm-activeLineGutter": {
    backgroundColor: "color-mix(in srgb, var(--accent-soft) 45%, transparent)",
  },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 30%, transparent)",
  },
  ".cm-tooltip": { border: "1px solid var(--line)", backgroundColor: "var(--paper-raised)", color: "var(--ink)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--accent-ink)" },
});

/** The setup of every editor on the screen. */
export const commonSetup: Extension = [
  EditorView.cspNonce.of(nonce),
  lineNumbers(),
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  highlightActiveLine(),
  json(),
  syntaxHighlighting(colours),
  syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
  theme,
  EditorState.tabSize.of(2),
  EditorView.lineWrapping,
  // Escape, then Tab leaves the editor, as is usual in CodeMirror.
  keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
];
