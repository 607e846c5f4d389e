import { type ReactNode, useId, useState } from "react";
import { joinConfigPath } from "../../shared/config-path.ts";
import { describeProblem, problemsIn } from "../../shared/health.ts";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import { ReviewDialog } from "../edits/review-dialog.tsx";
import { byActor } from "../parts/by-actor.ts";
import { addressOf } from "../state/place.ts";
import { nameOfRepository, type PendingEdit, useScreen } from "../state/store.ts";
import { Dismiss, useFoundInHome } from "../waiting/found.tsx";
import { Proposal, useProposals } from "../waiting/proposals.tsx";
import { WaitingValue } from "../waiting/waiting-value.tsx";
import { ToldProblem } from "./told-problem.tsx";

/** The maximum shown of each kind. */
const maxShown = 20;

/** What needs the person's attention: where each item is, and what can be done about it. */
export function ToDo({ repositories }: { readonly repositories: readonly RepositoryEntry[] }) {
  const pending = useScreen(state => state.pending);
  const here = useScreen(state => state.machine);
  const drafts = useScreen(state => state.drafts);
  const undecided = [...pending].filter(([, { conflict, refusal }]) => conflict !== undefined || refusal !== undefined);
  // Even with very many repositories, few have problems.
  const problems = repositories
    .filter(({ health }) => health.length > 0)
    .flatMap(entry => problemsIn(entry.health).map(problem => ({ entry, problem })));
  const untrusted = problems.flatMap(({ entry, problem: { code, field } }) =>
    code === 1114 && field !== undefined ? [{ entry, field }] : [],
  );
  const broken = [...Map.groupBy(problems, ({ entry }) => entry)].flatMap(([entry, some]) => {
    const [first, ...more] = some.filter(({ problem }) => problem.code !== 1114);
    return first === undefined ? [] : [{ entry, problem: first.problem, more: more.length }];
  });
  const [inHome, dropInHome] = useFoundInHome();
  const proposals = useProposals();
  const ofDaemon = useScreen(state => state.problems).filter(text => !inHome.some(({ message }) => message === text));
  const found = repositories
    .filter(({ health }) => health.length > 0)
    .flatMap(({ id, health }) =>
      health.flatMap(({ finding, message }) => (finding ? [{ repo: id, finding, message }] : [])),
    );
  const ofDisk = problems.length + ofDaemon.length + inHome.length + found.length;
  if (ofDisk + proposals.length + pending.size + drafts.size === 0)
    return (
      <p>
        Nothing needs attention: no file has problems, no command is waiting for your trust, and all edits are saved.
      </p>
    );
  return (
    <>
      <Section title="Problems of the daemon">
        {ofDaemon.map(text => (
          <li key={text}>
            <ToldProblem text={text} />
          </li>
        ))}
      </Section>
      <Section title="Edits to resolve">
        {undecided.map(([key, edit]) => (
          <li key={key}>
            <FieldLink repo={edit.repo} scope={edit.scope} field={edit.field} />
            <span>{describeUndecided(edit, here)}</span>
          </li>
        ))}
      </Section>
      <Section title="Commands waiting for your trust">
        {untrusted.map(({ entry, field }) => (
          <li key={`${entry.id} ${field}`}>
            <RepositoryLink repo={entry.id} />
            <WaitingValue repo={entry.id} field={field} />
          </li>
        ))}
      </Section>
      <Section title="Proposed by keys">
        {proposals.map(proposal => (
          <li key={proposal.id}>
            <RepositoryLink repo={proposal.repo} />
            <div>
              <code>{proposal.field}</code>
              <Proposal proposal={proposal} />
            </div>
          </li>
        ))}
      </Section>
      <Section title="Files with problems">
        {broken.map(({ entry, problem, more }) => (
          <li key={entry.id}>
            <RepositoryLink repo={entry.id} />
            <span>
              {describeProblem(problem)}
              {more > 0 && ` And ${more} more.`}{" "}
              <a className="link" href={addressOf({ page: "repo", view: "json", repo: entry.id })}>
                Open the text<span className="visually-hidden"> of {entry.name}</span>
              </a>
            </span>
          </li>
        ))}
      </Section>
      <Section title="Found by Repoconf">
        {[
          ...inHome.map(({ id, message }) => (
            <li key={id}>
              <span className="overview-whole">
                {message} <Dismiss finding={id} onDismissed={() => dropInHome(id)} />
              </span>
            </li>
          )),
          ...found.map(({ repo, finding, message }) => (
            <li key={finding}>
              <RepositoryLink repo={repo} />
              <span>
                {message} <Dismiss finding={finding} />
              </span>
            </li>
          )),
        ]}
      </Section>
      <Unsaved />
    </>
  );
}

/** Unsaved edits by repository, and unsaved texts of files. */
function Unsaved() {
  const pending = useScreen(state => state.pending);
  const drafts = useScreen(state => state.drafts);
  const [reviewing, setReviewing] = useState(false);
  const edits = [...Map.groupBy(pending.values(), ({ repo }) => repo)];
  return (
    <>
      <Section
        title="Unsaved edits"
        action={
          pending.size > 0 && (
            <button type="button" className="button" onClick={() => setReviewing(true)}>
              Review edits
            </button>
          )
        }
      >
        {[
          ...edits.map(([repo, some]) => (
            <li key={repo}>
              <RepositoryLink repo={repo} />
              <span>{some.length === 1 ? "1 edit" : `${some.length} edits`}</span>
            </li>
          )),
          ...Array.from(drafts.keys(), repo => (
            <li key={`${repo} text`}>
              <RepositoryLink repo={repo} view="json" />
              <span>edited as text</span>
            </li>
          )),
        ]}
      </Section>
      {reviewing && <ReviewDialog onClose={() => setReviewing(false)} />}
    </>
  );
}

interface SectionProps {
  readonly title: string;
  readonly action?: ReactNode;
  readonly children: readonly ReactNode[];
}

/** One kind of waiting item; renders nothing if there is none. */
function Section({ title, action, children }: SectionProps) {
  const id = useId();
  if (children.length === 0) return undefined;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <ul className="overview-list">{children.slice(0, maxShown)}</ul>
      {children.length > maxShown && <p className="hint">And {children.length - maxShown} more.</p>}
      {action}
    </section>
  );
}

function describeUndecided({ conflict, refusal }: PendingEdit, here: string | undefined): string {
  if (conflict === undefined) return `was refused: ${refusal}`;
  return `was also changed ${byActor(conflict.by, here)} in the meantime. Choose which value to keep.`;
}

function RepositoryLink({ repo, view = "fields" }: { readonly repo: string; readonly view?: "fields" | "json" }) {
  const name = useScreen(state => nameOfRepository(state, repo));
  return (
    <a className="link" href={addressOf({ page: "repo", view, repo })}>
      {name}
    </a>
  );
}

function FieldLink({ repo, scope, field }: Pick<PendingEdit, "repo" | "scope" | "field">) {
  const name = useScreen(state => nameOfRepository(state, repo));
  return (
    <a className="link" href={addressOf({ page: "repo", view: "fields", repo, scope, field })}>
      {name}, {joinConfigPath(scope, field)}
    </a>
  );
}
