import { ArrowLeft, ArrowLeftRight, ArrowRight } from "lucide-react";
import { useMemo, useState } from "react";
import { type DiffAction, DiffTable } from "../diff/diff-table.tsx";
import type { ComparedSide } from "../state/compared-side.ts";
import { dropEdit, editAll } from "../state/edits.ts";
import { go } from "../state/navigation.ts";
import { addressOf } from "../state/place.ts";
import { editKey, findRepository, type ScreenState, useScreen } from "../state/store.ts";
import { type ComparedField, canCopy, comparedFields, isToBeTrusted } from "./compared-fields.ts";
import { SideChoice } from "./side-choice.tsx";
import { useSide } from "./use-side.ts";

interface Sides {
  readonly left: ComparedSide | undefined;
  readonly right: ComparedSide | undefined;
}

/** Any two of repository, revision, file and defaults side by side; copying a value across makes an edit. */
export function ComparePage({ left, right }: Sides) {
  const isKnown = useScreen(state => state.repositories !== undefined);
  const found = { left: useSide(left), right: useSide(right) };
  if (!isKnown) return <p className="waiting">Reading…</p>;
  const isBothRead = found.left.values !== undefined && found.right.values !== undefined;
  const isReading = [found.left, found.right].every(({ problem }) => problem === undefined);
  return (
    <article className="page compare-page" aria-labelledby="page-title">
      <h1 id="page-title">Compare</h1>
      <div className="compare-frame">
        <div className="compare-sides">
          <SideChoice
            title="Left"
            side={left}
            problem={found.left.problem}
            isNext={left === undefined}
            onChoose={side => go({ page: "compare", left: side, right })}
          />
          <button
            type="button"
            className="button compare-swap"
            onClick={() => go({ page: "compare", left: right, right: left })}
          >
            <ArrowLeftRight aria-hidden="true" />
            Swap sides
          </button>
          <SideChoice
            title="Right"
            side={right}
            problem={found.right.problem}
            isNext={left !== undefined && right === undefined}
            onChoose={side => go({ page: "compare", left, right: side })}
          />
        </div>
      </div>
      {left === undefined || right === undefined ? (
        <p className="hint">Choose what to compare.</p>
      ) : isBothRead ? (
        <Comparison left={left} right={right} found={found} />
      ) : (
        isReading && <p className="waiting">Reading…</p>
      )}
    </article>
  );
}

interface ComparisonProps {
  readonly left: ComparedSide;
  readonly right: ComparedSide;
  readonly found: { readonly [Side in keyof Sides]: ReturnType<typeof useSide> };
}

function Comparison({ left, right, found }: ComparisonProps) {
  const scopes = useScreen(state => state.scopes);
  const repositories = useScreen(state => state.repositories);
  const [all, setAll] = useState(false);
  const [one, other] = [found.left.values, found.right.values];
  const fields = useMemo(() => (one && other ? comparedFields(one, other, scopes) : []), [one, other, scopes]);
  // An edited field is shown even if the edit made both sides equal.
  const shown = useMemo(
    () => fields.filter(({ differs, notes }) => all || differs || notes?.before || notes?.after),
    [fields, all],
  );
  const differing = fields.filter(({ differs }) => differs);
  const ways = [
    { key: "left", from: right, to: left, edited: "before" },
    { key: "right", from: left, to: right, edited: "after" },
  ] as const;
  const copy = (copied: readonly ComparedField[], { key, to }: (typeof ways)[number]) => {
    if (to.kind !== "now") return;
    const { repo } = to;
    editAll(
      copied.map(({ scope, field, before, after }) => ({ repo, scope, field, value: key === "left" ? after : before })),
    );
  };
  const actionsOf = (field: ComparedField) =>
    ways.flatMap((way): DiffAction[] => {
      const { key, from, to, edited } = way;
      if (canCopy(field, from, to)) return [{ key, text: copyTexts[key], run: () => copy([field], way) }];
      if (field.differs || to.kind !== "now" || field.notes?.[edited] === undefined) return [];
      return [
        {
          key,
          text: `Discard the edit on the ${key}`,
          run: () => dropEdit(editKey(to.repo, field.scope, field.field)),
        },
      ];
    });
  const untrusted = [left, right].find(side => differing.some(field => isToBeTrusted(field, side)));
  return (
    <>
      <div className="compare-tools">
        <p role="status">
          {differing.length === 0
            ? "Both sides have the same values."
            : `${differing.length} of ${fields.length} fields ${differing.length === 1 ? "differs" : "differ"}.`}
        </p>
        <label className="check">
          <input type="checkbox" checked={all} onChange={event => setAll(event.target.checked)} />
          Show all fields
        </label>
        <span>
          {ways.map(way => {
            const copied = differing.filter(field => canCopy(field, way.from, way.to));
            return (
              copied.length > 0 && (
                <button key={way.key} type="button" className="button button-quiet" onClick={() => copy(copied, way)}>
                  Copy all to the {way.key}
                </button>
              )
            );
          })}
        </span>
      </div>
      {untrusted !== undefined && untrusted.kind !== "defaults" && (
        <p className="hint">
          Commands and environment variables are not copied from a file.{" "}
          <a className="link" href={addressOf({ page: "repo", view: "fields", repo: untrusted.repo })}>
            Review them in full before you trust them
          </a>
        </p>
      )}
      {shown.length > 0 && (
        <DiffTable
          changes={shown}
          sides={{ before: nameOfSide(left, repositories), after: nameOfSide(right, repositories) }}
          actions={actionsOf}
        />
      )}
    </>
  );
}

const copyTexts = {
  left: (
    <>
      <ArrowLeft aria-hidden="true" />
      Copy<span className="visually-hidden"> to the left</span>
    </>
  ),
  right: (
    <>
      Copy<span className="visually-hidden"> to the right</span>
      <ArrowRight aria-hidden="true" />
    </>
  ),
};

function nameOfSide(side: ComparedSide, repositories: ScreenState["repositories"]): string {
  if (side.kind === "defaults") return "the defaults";
  const { name, path } = findRepository({ repositories }, side.repo) ?? { name: side.repo };
  // Distinguishes repositories with the same name.
  const isOnly = repositories?.filter(entry => entry.name === name).length === 1;
  const whose = isOnly ? name : `${name} (${path ?? side.repo})`;
  if (side.kind === "now") return whose;
  return side.kind === "file" ? `${whose}, its file` : `${whose}, revision ${side.revision}`;
}
