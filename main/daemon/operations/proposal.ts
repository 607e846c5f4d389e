import { createHash } from "node:crypto";
import { configValue } from "../../../shared/config.ts";
import { splitConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { Layer, ProposedValue } from "../../../shared/protocol.ts";
import { effectOf } from "../../../shared/scopes/scope-schema.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { Store } from "../../store/store.ts";
import { layersOf, storedIn } from "../../store/values/counted-values.ts";
import { hashOfValue, trustHash } from "../../store/values/trusted-values.ts";
import type { ConfigChanges } from "../config/config-changes.ts";
import type { Caller } from "../keys/caller.ts";
import { noProposal, type Proposal, type Proposals } from "../rights/proposals.ts";
import { isHidden } from "../rights/reveal.ts";
import type { Operations } from "../socket/dispatch.ts";
import { requireOwner } from "./repo.ts";

/** How often to decide again about a repository that changes meanwhile. */
const maxTries = 5;

/** `proposal/*`: values that keys may only propose. A key sees and withdraws its own; the owner accepts or declines any. */
export function proposalOperations(
  proposals: Proposals,
  changes: ConfigChanges,
  store: Store,
  scopes: Scopes,
): Pick<Operations, "proposal/list" | "proposal/accept" | "proposal/remove"> {
  const mayKnow = (caller: Caller, { key }: Proposal) => caller.owner || key === caller.keyId;
  const found = (caller: Caller, id: string) => {
    const proposal = proposals.list().find(one => one.id === id && mayKnow(caller, one));
    if (proposal === undefined) throw noProposal(id);
    return proposal;
  };
  /** The proposal beside what it would replace, and the hash of both together with what the field's schema makes of the value. */
  async function review(proposal: Proposal) {
    const { repo, field: path, layer = "shared", value } = proposal;
    const state = await store.repositories.read(repo);
    const { scope, field } = splitConfigPath(path) ?? { scope: "", field: "" };
    const schema = scopes.field(scope, field)?.schema;
    const layers = layersOf(state ?? {});
    const [own, counted] = [storedIn(layers, layer), state?.stored ?? {}];
    // A local value comes before the shared one.
    const replaced = [own, ...(layer === "local" ? [counted] : [])].map(values => configValue(values, scope, field));
    const stored = replaced.find(one => one !== undefined);
    const rule = trustHash(scopes, { scope, field }, value ?? null);
    const hash = hashOfProposal({ path, layer, rule, value, stored });
    const serving = stored === undefined ? (schema?.default ?? null) : stored;
    return { effect: effectOf(schema ?? {}), hash, serving, revision: state?.revision ?? 0 };
  }

  return {
    "proposal/list": async ({ repo }, { caller }) => {
      const own = proposals.list().filter(one => mayKnow(caller, one) && (!repo || one.repo === repo));
      const shown = own.map(async (proposal): Promise<ProposedValue> => {
        if (!caller.owner) return viewOf(caller, proposal, scopes);
        const { revision: _, ...reviewed } = await review(proposal);
        return { ...viewOf(caller, proposal, scopes), ...reviewed };
      });
      return { result: await Promise.all(shown) };
    },

    "proposal/accept": async ({ id, hash }, { caller }) => {
      requireOwner(caller);
      for (let tries = 1; ; tries += 1) {
        const proposal = found(caller, id);
        const { repo, field, layer = "shared", value, by, reason } = proposal;
        const reviewed = await review(proposal);
        if (reviewed.hash !== hash) throw anotherProposal(proposal);
        const { result, errors } = await changes.run(caller, {
          ...{ repos: [repo], layer, values: new Map([[field, value]]), atomic: true, dryRun: false, flush: false },
          source: value === undefined ? "unset" : "set",
          revisions: new Map([[repo, reviewed.revision]]),
          reason: `proposed by ${by}${reason === undefined ? "" : `: ${reason}`}`.slice(0, 1_000),
        });
        const [error] = errors;
        if (error?.code === 1104 && tries < maxTries) continue;
        if (error !== undefined) throw error;
        await proposals.remove(id);
        return { result: { revision: result[0]?.revision ?? reviewed.revision } };
      }
    },

    "proposal/remove": async ({ id }, { caller }) => {
      found(caller, id);
      await proposals.remove(id);
      return { result: {} };
    },
  };
}

/** What a person sees of a proposal. */
interface SeenProposal {
  readonly path: string;
  readonly layer: Layer;
  /** What the field's schema makes of the value (`trustHash`). */
  readonly rule: string;
  readonly value: JsonValue | undefined;
  readonly stored: JsonValue | undefined;
}

export function hashOfProposal({ path, layer, rule, value, stored }: SeenProposal): string {
  const part = (one: JsonValue | undefined) => (one === undefined ? null : hashOfValue(one));
  return createHash("sha256")
    .update(JSON.stringify([path, layer, rule, part(value), part(stored)]))
    .digest("hex");
}

/** The proposal as its key, or the owner, may see it. */
function viewOf(caller: Caller, proposal: Proposal, scopes: Scopes): ProposedValue {
  const { key: _, by, restored, value, ...rest } = proposal;
  const { scope, field } = splitConfigPath(proposal.field) ?? { scope: "", field: "" };
  // What the key sent is known to it; what it would restore may not be.
  const isMasked = restored === true && isHidden(caller, scopes.field(scope, field)?.schema, value);
  return {
    ...rest,
    by: caller.owner ? by : "this key",
    ...(value !== undefined && (isMasked ? { value: null, masked: true } : { value })),
  };
}

function anotherProposal({ repo, field }: Proposal): RepoconfError {
  const message = `The proposal for ${field} is not what you reviewed: it, the present value or the field's schema may have changed. Review it again.`;
  return new RepoconfError(1104, message, { repo, field });
}
