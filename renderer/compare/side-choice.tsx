import { Failure } from "../fields/problems.tsx";
import { ago } from "../parts/ago.ts";
import { byActor } from "../parts/by-actor.ts";
import { Choose } from "../parts/choose.tsx";
import { type ComparedSide, sideAt, textOfSide } from "../state/compared-side.ts";
import { daemon } from "../state/connection.ts";
import { addressOf } from "../state/place.ts";
import { findRepository, useScreen } from "../state/store.ts";
import { useAnswer } from "../state/use-answer.ts";
import { RepositoryChoice } from "./repository-choice.tsx";

/** The maximum of revisions to choose from, newest first; older ones can be chosen in the history. */
const maxRevisions = 100;

const defaults = textOfSide({ kind: "defaults" });
const others = [{ id: defaults, name: "The defaults" }];

interface SideChoiceProps {
  readonly title: "Left" | "Right";
  readonly side: ComparedSide | undefined;
  readonly problem: string | undefined;
  /** Whether it is the only choice left to make. */
  readonly isNext: boolean;
  onChoose(side: ComparedSide): void;
}

/** The choice of one side: the defaults, or a repository and which of its values. */
export function SideChoice({ title, side, problem, isNext, onChoose }: SideChoiceProps) {
  const repo = side === undefined || side.kind === "defaults" ? undefined : side.repo;
  const choose = (text: string) => {
    const chosen = sideAt(text);
    if (chosen !== undefined) onChoose(chosen);
  };
  return (
    <fieldset className="compare-side">
      <legend>{title}</legend>
      <RepositoryChoice
        chosen={side?.kind === "defaults" ? defaults : repo}
        others={others}
        isNext={isNext}
        onChoose={choose}
      />
      {side !== undefined && repo !== undefined && (
        <ValuesChoice repo={repo} chosen={textOfSide(side)} onChoose={choose} />
      )}
      <Failure text={problem} />
      {problem !== undefined && side?.kind === "file" && (
        <a className="link" href={addressOf({ page: "repo", view: "json", repo: side.repo })}>
          Open its JSON view
        </a>
      )}
    </fieldset>
  );
}

interface ValuesChoiceProps {
  readonly repo: string;
  /** In the form that `sideAt` parses. */
  readonly chosen: string;
  onChoose(text: string): void;
}

/** Which values of a repository: the current ones, those in its file if they differ, or those of a revision. */
function ValuesChoice({ repo, chosen, onChoose }: ValuesChoiceProps) {
  const entry = useScreen(state => findRepository(state, repo));
  const here = useScreen(state => state.machine);
  const revisions = useAnswer(() => revisionsOf(repo), [repo, entry?.revision]);
  const file = textOfSide({ kind: "file", repo });
  const options = new Map([[repo, "Its current values"]]);
  if (chosen === file || (entry !== undefined && entry.health.length > 0)) options.set(file, "The values in its file");
  for (const { revision, time, ...author } of revisions?.repo === repo ? revisions.entries : []) {
    const text = `Revision ${revision}, ${ago(time)} ${byActor(author, here)}`;
    options.set(textOfSide({ kind: "revision", repo, revision }), text);
  }
  // An older revision, or one that does not exist.
  if (!options.has(chosen)) options.set(chosen, `Revision ${chosen.slice(repo.length + 1)}`);
  return (
    <Choose
      label="Values"
      shown="above"
      options={Array.from(options, ([id, text]) => ({ id, text }))}
      chosen={chosen}
      onChoose={onChoose}
    />
  );
}

/** Without revisions the current values can still be compared, and the history shows the problem. */
async function revisionsOf(repo: string) {
  return { repo, entries: await daemon().run("history/list", { repo, limit: maxRevisions }) };
}
