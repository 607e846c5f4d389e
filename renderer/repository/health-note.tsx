import { describeProblem } from "../../shared/health.ts";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import { daemon } from "../state/connection.ts";
import { messageOf, notify } from "../state/notices.ts";
import { addressOf } from "../state/place.ts";
import { Dismiss } from "../waiting/found.tsx";
import { WaitingValue } from "../waiting/waiting-value.tsx";

/** What is wrong with a repository's file, and how to fix it. */
export function HealthNote({ entry }: { readonly entry: RepositoryEntry }) {
  if (entry.health.length === 0) return undefined;
  const broken = entry.health.find(({ code }) => code === 1106);
  const restore = async () => {
    // The base's local values are in a file of the base.
    const repo = broken?.layer === "base" ? (entry.base ?? entry.id) : entry.id;
    const layer = broken?.layer === undefined ? {} : { layer: "local" as const };
    try {
      const { movedTo } = await daemon().run("file/restore", { repo, ...layer });
      notify(
        "done",
        movedTo === undefined
          ? "Restored the last valid file."
          : `Restored the last valid file. The replaced file was moved to ${movedTo}`,
      );
    } catch (error) {
      notify("problem", messageOf(error));
    }
  };
  return (
    <aside className="health" aria-label="Problems with the file" data-broken={broken !== undefined}>
      {broken !== undefined && (
        <p className="health-lead">
          {broken.noFolder
            ? "The folder of the work tree is missing or another one"
            : broken.layer === undefined
              ? "The file is invalid"
              : "The file of local values is invalid"}
          ; its last valid values are active.
        </p>
      )}
      <ul>
        {entry.health.map(problem => (
          <li key={`${problem.code} ${problem.field ?? ""} ${problem.message}`}>
            {problem.code === 1114 && problem.field !== undefined ? (
              <WaitingValue repo={entry.id} field={problem.field} />
            ) : (
              describeProblem(problem)
            )}
            {problem.finding !== undefined && (
              <p className="health-tools">
                <Dismiss finding={problem.finding} />
              </p>
            )}
          </li>
        ))}
      </ul>
      {entry.health.some(({ finding }) => finding === undefined) && (
        <p className="health-tools">
          <a className="link" href={addressOf({ page: "repo", view: "json", repo: entry.id })}>
            Open the text
          </a>
          {broken !== undefined && !broken.noFolder && (
            <button type="button" className="button" onClick={() => void restore()}>
              Restore last valid file
            </button>
          )}
        </p>
      )}
    </aside>
  );
}
