import { type EditorState, type Extension, StateField, Transaction } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import { type Node, type ParseError, parseTree } from "jsonc-parser";
import { masksAnything } from "../../shared/scopes/masks.ts";
import { mask, unknownSchema } from "../parts/show-json.ts";
import { findField, type ScopeEntry } from "../state/store.ts";

interface Range {
  readonly from: number;
  readonly to: number;
}

/**
 * The ranges of masked values in the text of a repository's file: those that a schema marks as masked, and those that no schema
 * describes, since their schema may be missing or broken. Undefined: the text is not JSON, so anything in it may be masked.
 */
function maskedRanges(text: string, scopes: readonly ScopeEntry[]): Range[] | undefined {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { disallowComments: false, allowTrailingComma: false });
  if (root === undefined || errors.length > 0) return undefined;
  // All members of that name: a person may have pasted a second one.
  const configs = membersOf(root).filter(([name]) => name === "config");
  // A value that is not an object of scopes or fields is described by no schema.
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

/** Shows dots in place of masked values, without changing the text. */
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
      // While the person types, the text may briefly not be JSON; what was hidden stays hidden.
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
