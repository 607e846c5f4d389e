import { splitConfigPath } from "../../shared/config-path.ts";
import { exactText } from "../../shared/json.ts";
import type { UntrustedValue } from "../../shared/protocol.ts";
import { describeEffect } from "../../shared/scopes/describe-effect.ts";
import { effectOf } from "../../shared/scopes/scope-schema.ts";
import { daemon } from "../state/connection.ts";
import { notify } from "../state/notices.ts";
import { findField, useScreen } from "../state/store.ts";
import { ReviewButtons } from "./review-buttons.tsx";
import { ReviewedValues } from "./reviewed-values.tsx";
import { useReview } from "./use-review.ts";

/** An untrusted value: told with what it does, and shown beside the active value before it can be trusted. */
export function WaitingValue({ repo, field }: { readonly repo: string; readonly field: string }) {
  const { scope, field: name } = splitConfigPath(field) ?? { scope: "", field: "" };
  const schema = useScreen(state => findField(state.scopes, scope, name)) ?? { "x-command": true };
  const { shown, setShown, pending, during } = useReview<UntrustedValue, "Reading…" | "Trusting…">();
  const show = () =>
    during("Reading…", async () => {
      const waiting = await daemon().run("trust/list", { repo });
      setShown(waiting.find(one => one.field === field));
    });
  const accept = ({ hash }: UntrustedValue) =>
    during("Trusting…", async () => {
      await daemon().run("trust/accept", { repo, field, hash });
      notify("done", `${field} is trusted and active.`);
    });
  return (
    <div className="waiting-value">
      <p>
        <code>{field}</code> is in the file and {describeEffect(effectOf(schema), field)}. It counts once you trust it.
      </p>
      {shown !== undefined && (
        <p>
          Once it is trusted, this value <strong>{describeEffect(shown.effect, field)}</strong>.
        </p>
      )}
      {shown !== undefined && (
        <ReviewedValues active={shown.serving} title="In the file" text={exactText(shown.value)} />
      )}
      <p className="health-tools">
        <ReviewButtons
          field={field}
          pending={pending}
          show={() => void show()}
          title="Trust this value"
          accepting="Trusting…"
          accept={shown && (() => void accept(shown))}
        />
      </p>
    </div>
  );
}
