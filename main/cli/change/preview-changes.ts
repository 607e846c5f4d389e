import type { RepoconfClient } from "../../../shared/client/client.ts";
import { inCommandWords } from "../../../shared/command-words.ts";
import { type Config, configValue } from "../../../shared/config.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import { sameJson } from "../../../shared/json.ts";
import type { ChangedRepository, Reply, RepositoryEntry } from "../../../shared/protocol.ts";
import { forEachConcurrently } from "../../time/for-each-concurrently.ts";
import { type Fields, mask } from "../connect/fields.ts";
import { withHidden } from "../output/masking.ts";
import { confirmOrThrow, printNote } from "../output/terminal.ts";
import { describeField } from "./describe-change.ts";

/** What a change of several repositories would do. */
export interface Preview {
  /** The dry run's reply, with everything that would be refused. */
  readonly reply: Reply<readonly ChangedRepository[]>;
  /** The revisions that it is about, by id. */
  readonly revisions: { readonly [repo: string]: number };
  /** The number of repositories in which a value would change. */
  readonly count: number;
  /** One line for each field that would change, and for each refusal. */
  readonly lines: readonly string[];
}

export interface PreviewRequest {
  readonly repositories: readonly RepositoryEntry[];
  /** The fields that the change would unset; all others are stored afterwards. */
  readonly unset: readonly string[];
  readonly fields: Fields;
  /** Runs the change without making it, if the repositories are at these revisions. */
  tryOut(revisions: Preview["revisions"]): Promise<Preview["reply"]>;
}

/** The number of requests that run at once. */
const readWidth = 16;

/** Compares what is stored now with what would be. Throws RequestError if nothing can be read. */
export async function previewChanges(
  client: Pick<RepoconfClient, "request">,
  { repositories, unset, fields, tryOut }: PreviewRequest,
): Promise<Preview> {
  const stored = new Map<string, Config>();
  const revisions: { [repo: string]: number } = {};
  await forEachConcurrently(repositories, readWidth, async ({ id, revision }) => {
    // A repository that cannot be read is refused by the dry run too, which says why.
    const now = await client.request("config/list", { repo: id, stored: true });
    stored.set(id, withHidden(now.result, now.masked ?? []));
    revisions[id] = now.revision ?? revision;
  });
  const reply = await tryOut(revisions);
  const labelOf = labels(repositories);
  const lines: string[] = [];
  const changing = new Set<string>();
  for (const { repo, config } of reply.result)
    for (const [scope, values] of Object.entries(config))
      for (const [field, described] of Object.entries(values)) {
        const value = described.masked ? mask : described.value;
        const path = joinConfigPath(scope, field);
        const before = configValue(stored.get(repo) ?? {}, scope, field);
        const isStored = !unset.includes(path);
        if (sameJson(before, isStored ? value : undefined)) continue;
        changing.add(repo);
        const schema = fields.get(path);
        const change = { value, previous: before === undefined ? (schema?.default ?? null) : before, stored: isStored };
        const line = describeField(path, change, { fields, reveal: false }, described.layer);
        lines.push(`${labelOf(repo)}: ${line.trim()}`);
      }
  for (const { repo, message } of reply.errors)
    lines.push(`Not changed: ${repo === undefined ? "" : `${labelOf(repo)}: `}${inCommandWords(message)}`);
  return { reply, revisions, count: changing.size, lines };
}

/** Shows the lines and asks. Without a terminal nobody can answer. Throws CommandError unless the answer is yes. */
export async function confirmChange(lines: readonly string[], question: string): Promise<void> {
  printNote(...lines);
  await confirmOrThrow(question, "Nothing was changed.");
}

/** How to name repositories in lines about several of them: by name, and by id too if others have the same name. */
export function labels(repositories: readonly Pick<RepositoryEntry, "id" | "name">[]): (id: string) => string {
  const byName = Map.groupBy(repositories, ({ name }) => name);
  const byId = new Map(
    repositories.map(({ id, name }) => [id, byName.get(name)?.length === 1 ? name : `${name} (${id})`]),
  );
  return id => byId.get(id) ?? id;
}
