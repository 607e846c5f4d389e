import { type EditorState, type Extension, StateField, Transaction } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import { type Node, type ParseError, parseTree } from "jsonc-parser";
import { masksAnything } from "../../shared/scopes/masks.ts";
import { mask, unknownSchema } from "../page/show-json.ts";
import { findField, type ScopeEntry } from "../state/store.ts";

interface Range {
  readonly from: number;
  readonly to: number;
}

/**
 * Where the text of a repository's file has values that are masked: of fields whose schema says so, and of those that no schema
 * describes, as theirs may be gone or broken. Undefined: the text is no JSON, and anything in it may be one.
 */
function maskedRanges(text: string, scopes: readonly ScopeEntry[]): Range[] | undefined {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { disallowComments: false, allowTrailingComma: false });
  if (root === undefined || errors.length > 0) return undefined;
  // Every one of the name: a person may have pasted a second.
  const configs = membersOf(root).filter(([name]) => name === "config");
  // What is no object of scopes or fields is nothing that a schema describes.
  return configs.flatMap(([, config]) =>
    within(config, (scope, values) =>
      within(values, (field, value) => {
        const schema = findField(scopes, scope, field) ?? unknownSchema;
        return masksAnything(schema) ? [rangeOf(value)] : [];
      }),
    ),
  );
}

function within(node: Node, find: (name: string, value: Node) => Range[]): Range[] {
  return node.type === "object" ? membersOf(node).flatMap(([name, value]) => find(name, value)) : [rangeOf(node)];
}

function membersOf(node: Node): [string, Node][] {
  return (node.children ?? []).flatMap(({ children: [key, value] = [] }) =>
    key === undefined || value === undefined ? [] : [[String(key.value), value] satisfies [string, Node]],
  );
}

function rangeOf({ offset, length }: Node): Range {
  return { from: offset, to: offset + length };
}

class MaskWidget extends WidgetType {
  override eq(): boolean {
    return true;
  }

  override toDOM(): HTMLElement {
    const element = document.createElement("span");
    element.textContent = mask;
    element.setAttribute("aria-label", "masked");
    return element;
  }
}

const masked = Decoration.replace({ widget: new MaskWidget() });

/** Shows dots in the place of what is masked. The text stays what it is. */
export function maskValues(scopes: readonly ScopeEntry[]): Extension {
  const find = ({ doc }: EditorState): DecorationSet | undefined => {
    const ranges = maskedRanges(doc.toString(), scopes);
    return ranges && Decoration.set(ranges.map(({ from, to }) => masked.range(from, to)));
  };
  const all = ({ doc }: EditorState) =>
    doc.length === 0 ? Decoration.none : Decoration.set(masked.range(0, doc.length));
  const field = StateField.define<DecorationSet>({
    create: state => find(state) ?? all(state),
    update: (before, transaction) => {
      if (!transaction.docChanged) return before;
      // While one types the text may be no JSON for a moment, and what was hidden stays so.
      const isTyped = transaction.annotation(Transaction.userEvent) !== undefined;
      return find(transaction.state) ?? (isTyped ? before.map(transaction.changes) : all(transaction.state));
    },
    provide: self => [
      EditorView.decorations.from(self),
      EditorView.atomicRanges.of(view => view.state.field(self, false) ?? Decoration.none),
    ],
  });
  return field;
}
