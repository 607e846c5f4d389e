import { configEntries } from "../../../shared/config.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import type { JsonObject } from "../../../shared/json.ts";
import { printable, withHidden } from "../output/masking.ts";
import { type Call, failure } from "./call.ts";
import { about } from "./read-tools.ts";

interface AgentResource {
  readonly uri: string;
  readonly name: string;
  readonly description: string;
  read(call: Call): Promise<JsonObject>;
}

/** What agents can read as a whole. */
export const resources: readonly AgentResource[] = [
  {
    uri: "repoconf://values",
    name: "values",
    description: "every value of this repository, by path",
    read: async call => {
      const reply = await call.client.request("config/list", { repo: call.repository.id });
      if (reply.errors.length > 0) return failure(...reply.errors);
      const values = [...configEntries(withHidden(reply.result, reply.masked ?? []))].map(({ scope, field, value }) => {
        const path = joinConfigPath(scope, field);
        return [path, printable(path, value, call.fields)] as const;
      });
      return { ...about(call, reply.revision), values: Object.fromEntries(values) };
    },
  },
  {
    uri: "repoconf://schema",
    name: "schema",
    description: "the JSON Schema of each field, by path",
    // Schemas are JSON.
    read: async call => ({
      ...about(call, undefined),
      fields: Object.fromEntries(call.fields) as unknown as JsonObject,
    }),
  },
];
