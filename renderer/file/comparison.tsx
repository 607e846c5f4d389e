import { MergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { useScreen } from "../state/store.ts";
import { commonSetup } from "./editor-setup.ts";
import { maskValues } from "./masked-values.ts";

interface ComparisonProps {
  readonly left: string;
  readonly leftTitle: string;
  readonly right: string;
  readonly rightTitle: string;
  /** Whether masked values are shown. */
  readonly revealed: boolean;
}

/** Two texts side by side, with the differences marked. */
export function Comparison({ left, leftTitle, right, rightTitle, revealed }: ComparisonProps) {
  const place = useRef<HTMLDivElement>(null);
  const scopes = useScreen(state => state.scopes);
  useEffect(() => {
    if (place.current === null) return;
    const side = (doc: string, title: string) => ({
      doc,
      extensions: [
        commonSetup,
        revealed ? [] : maskValues(scopes),
        EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({ "aria-label": title, "aria-readonly": "true" }),
      ],
    });
    const view = new MergeView({ a: side(left, leftTitle), b: side(right, rightTitle), parent: place.current });
    return () => view.destroy();
  }, [left, leftTitle, right, rightTitle, revealed, scopes]);
  return (
    <>
      <div className="comparison-titles">
        <h2>{leftTitle}</h2>
        <h2>{rightTitle}</h2>
      </div>
      <div className="comparison" ref={place} />
    </>
  );
}
