import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { type ScopeEntry, screenStore, useScreen } from "../state/store.ts";
import { commonSetup } from "./editor-setup.ts";
import { checkText, completeText } from "./json-checks.ts";
import { maskValues } from "./masked-values.ts";

interface TextEditorProps {
  readonly text: string;
  /** Whether masked values are shown. */
  readonly revealed: boolean;
  onChange(text: string): void;
  /** Called on Ctrl S. */
  onSave(): void;
}

const masking = new Compartment();
const maskingOf = (revealed: boolean, scopes: readonly ScopeEntry[]) => (revealed ? [] : maskValues(scopes));

/** An editor for the text of a repository's file, with completion and checks from the schemas. */
export function TextEditor({ text, revealed, onChange, onSave }: TextEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const handlers = useRef({ onChange, onSave });
  handlers.current = { onChange, onSave };
  const scopes = useScreen(state => state.scopes);
  const first = useRef({ text, masking: maskingOf(revealed, scopes) });
  useEffect(() => {
    if (place.current === null) return;
    const editor = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: first.current.text,
        extensions: [
          commonSetup,
          masking.of(first.current.masking),
          closeBrackets(),
          autocompletion({ override: [completeText(() => screenStore.getState().scopes)] }),
          lintGutter(),
          linter(({ state }) => checkText(state.doc.toString(), screenStore.getState().scopes)),
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...lintKeymap]),
          EditorView.contentAttributes.of({ "aria-label": "Text of the file" }),
          EditorView.updateListener.of(update => {
            if (update.docChanged) handlers.current.onChange(update.state.doc.toString());
          }),
          EditorView.domEventHandlers({
            keydown: event => {
              if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s") return false;
              event.preventDefault();
              event.stopPropagation();
              handlers.current.onSave();
              return true;
            },
          }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, []);
  useEffect(() => {
    const editor = view.current;
    if (editor === null || editor.state.doc.toString() === text) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [text]);
  useEffect(() => {
    view.current?.dispatch({ effects: masking.reconfigure(maskingOf(revealed, scopes)) });
  }, [revealed, scopes]);
  return <div className="text-editor" ref={place} />;
}
