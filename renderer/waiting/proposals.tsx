import { useId } from "react";
import { exactText } from "../../shared/json.ts";
import type { ProposedValue } from "../../shared/protocol.ts";
import { describeEffect } from "../../shared/scopes/describe-effect.ts";
import { Button } from "../parts/button.tsx";
import { When } from "../parts/when.tsx";
import { daemon } from "../state/connection.ts";
import { notify } from "../state/notices.ts";
import { useScreen } from "../state/store.ts";
import { useAnswer } from "../state/use-answer.ts";
import { ReviewButtons } from "./review-buttons.tsx";
import { ReviewedValues } from "./reviewed-values.tsx";
import { useReview } from "./use-review.ts";

/** What keys without the right to set commands propose, kept up to date while a page shows it. */
export function useProposals(): readonly ProposedValue[] {
  const changes = useScreen(state => state.proposalChanges);
  return useAnswer(() => daemon().run("proposal/list", {}), [changes]) ?? [];
}

type Pending = "Reading…" | "Setting…" | "Declining…";

/** A proposal: shown with what it would do, and beside the active value, before it can be accepted. */
export function Proposal({ proposal: { id, field, layer, by, time, reason } }: { readonly proposal: ProposedValue }) {
  const { shown, setShown, pending, during } = useReview<ProposedValue, Pending>();
  const show = () =>
    during("Reading…", async () => setShown((await daemon().run("proposal/list", {})).find(one => one.id === id)));
  const accept = (hash = "") =>
    during("Setting…", async () => {
      await daemon().run("proposal/accept", { id, hash });
      notify("done", `${field} is set as proposed.`);
    });
  const decline = () =>
    during("Declining…", async () => {
      await daemon().run("proposal/remove", { id });
      notify("done", `The proposal for ${field} was declined.`);
    });
  return (
    <div className="waiting-value">
      <p>
        Proposed {layer === "local" && "as a local value "}by the key <strong>{by}</strong>, <When time={time} />
        {reason !== undefined && <>: {reason}</>}
      </p>
      {shown?.effect !== undefined && (
        <p>
          Once it is set, this value <strong>{describeEffect(shown.effect, field) || "has no effect any more"}</strong>.
        </p>
      )}
      {shown !== undefined && (
        <ReviewedValues
          active={shown.serving ?? null}
          title="Proposed"
          text={shown.value === undefined ? "(no value: the default)" : exactText(shown.value)}
        />
      )}
      <p className="health-tools">
        <ReviewButtons
          field={field}
          pending={pending}
          show={() => void show()}
          title="Set this value"
          accepting="Setting…"
          accept={shown && (() => void accept(shown.hash))}
        />
        <Button className="button" pending={pending === "Declining…" && pending} onClick={() => void decline()}>
          Decline<span className="visually-hidden">: {field}</span>
        </Button>
      </p>
    </div>
  );
}

/** What keys propose for one repository. */
export function ProposalsNote({ repo }: { readonly repo: string }) {
  const own = useProposals().filter(one => one.repo === repo);
  const id = useId();
  if (own.length === 0) return undefined;
  return (
    <aside className="health health-asked" aria-labelledby={id}>
      <p className="health-lead" id={id}>
        Proposed by keys
      </p>
      <ul>
        {own.map(proposal => (
          <li key={proposal.id}>
            <code>{proposal.field}</code>
            <Proposal proposal={proposal} />
          </li>
        ))}
      </ul>
    </aside>
  );
}
