import { RepoconfError } from "../../../shared/errors.ts";
import type { JsonObject } from "../../../shared/json.ts";
import { compileSchema } from "../../../shared/schema/compile-schema.ts";
import { describeSchemaProblem } from "../../../shared/schema/describe-problem.ts";
import { SpareSteps } from "../../../shared/schema/step-budget.ts";
import { joinPointer, valueAt } from "../../../shared/value-edit.ts";
import type { Call } from "./call.ts";
import { find, get, history } from "./read-tools.ts";
import { set, undo } from "./write-tools.ts";

/** A tool that agents can call. Its definition is in every conversation of theirs, so it is short: a test limits the bytes of all. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: {
    readonly type: "object";
    readonly properties: { readonly [argument: string]: object };
    readonly required?: readonly string[];
    readonly additionalProperties: false;
  };
  /** With `errors` in the result, the call has failed, perhaps in part. */
  run(call: Call, args: JsonObject): Promise<JsonObject>;
}

const text = (description: string) => ({ type: "string", description });
const revision = (description: string) => ({ type: "integer", minimum: 0, description });
const paths = (description: string) => ({
  type: "array",
  items: { type: "string" },
  minItems: 1,
  maxItems: 50,
  description,
});

export const readTools: readonly AgentTool[] = [
  {
    name: "config_find",
    description:
      "Find configuration fields of this repository: path, type, limits, default, value, and where the value comes from. At most 50.",
    inputSchema: {
      type: "object",
      properties: { query: text("words that the path, title or description contains; empty for all fields") },
      additionalProperties: false,
    },
    run: (call, { query }) => find(call, String(query ?? "")),
  },
  {
    name: "config_get",
    description: "Read values, now or at an earlier revision. Returns the revision for config_set.",
    inputSchema: {
      type: "object",
      properties: { fields: paths("such as svc.timeout"), revision: revision("an earlier one, from config_history") },
      required: ["fields"],
      additionalProperties: false,
    },
    run: (call, { fields, revision: at }) => get(call, fields as readonly string[], at as number | undefined),
  },
  {
    name: "config_history",
    description: "Who changed what, when and why; newest first. Also lists your proposals that wait for a person.",
    inputSchema: {
      type: "object",
      properties: {
        field: text("only changes of this field"),
        limit: { type: "integer", minimum: 1, maximum: 50, description: "10 if left out" },
        after: revision("only revisions older than this one"),
      },
      additionalProperties: false,
    },
    run: (call, args) => history(call, args),
  },
];

const reason = {
  type: "string",
  // Not of blanks only.
  pattern: "\\S",
  maxLength: 1000,
  description: "why; the person reads it in the history",
};
const dryRun = { type: "boolean", description: "only say what would change" };

export const writeTools: readonly AgentTool[] = [
  {
    name: "config_set",
    description: "Change values. All or nothing, unless atomic is false.",
    inputSchema: {
      type: "object",
      properties: {
        set: { type: "object", minProperties: 1, description: 'values by path: {"svc.timeout": 60}' },
        unset: paths("these go back to their defaults"),
        revision: revision("the one you read; if it has changed since, nothing is set"),
        reason,
        dryRun,
        atomic: { type: "boolean" },
        layer: {
          enum: ["local", "shared"],
          description: "local: only on this machine; shared: for everyone. In a linked git worktree local if left out",
        },
      },
      required: ["reason"],
      additionalProperties: false,
    },
    run: set,
  },
  {
    name: "config_undo",
    description:
      "Take back a change of yours, except what somebody changed since; or withdraw a proposal of yours. Give one of revision and proposal.",
    inputSchema: {
      type: "object",
      properties: {
        revision: revision("that your config_set returned"),
        proposal: text("its id, from config_history"),
        reason,
        dryRun,
      },
      required: ["reason"],
      additionalProperties: false,
    },
    run: undo,
  },
];

/** Throws RepoconfError 1101. */
export function checkArguments({ name, inputSchema }: AgentTool, args: JsonObject): void {
  // Schemas are JSON.
  const { problems } = compileSchema(inputSchema as unknown as JsonObject).check(args, new SpareSteps());
  if (problems.length === 0) return;
  const told = problems.map(problem => {
    const pointer = joinPointer(problem.path.map(String));
    const said = describeSchemaProblem(problem, valueAt(args, pointer));
    return pointer === "" ? `their object ${said}` : `${pointer.slice(1)} ${said}`;
  });
  throw new RepoconfError(1101, `The arguments of ${name} are invalid: ${told.join(", ")}.`);
}
