import type { Grants, KeyRight } from "../../shared/grants.ts";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import { useScreen } from "../state/store.ts";
import { type Seen, type SeenField, seenBy } from "./seen-by.ts";

interface KeyPreviewProps {
  readonly grants: Grants;
  readonly rights: readonly KeyRight[];
  /** The repositories that the grants name. */
  readonly covered: readonly RepositoryEntry[];
}

/** What a key with these grants would currently see. */
export function KeyPreview({ grants, rights, covered }: KeyPreviewProps) {
  const scopes = useScreen(state => state.scopes);
  const seen = seenBy(grants, covered, scopes);
  const commands = [...new Set(fieldsIn(seen).flatMap(({ path, effect }) => (effect === undefined ? [] : [path])))];
  const hasMasked = fieldsIn(seen).some(({ isMasked }) => isMasked);
  const more = seen.repositories - seen.listed.length;
  return (
    <aside className="key-preview" aria-labelledby="key-preview-title">
      <h2 id="key-preview-title">What this key would see</h2>
      <p role="status">{summary(seen, grants)}</p>
      {seen.idle.length > 0 && <p className="key-warning">No field there is now matches {seen.idle.join(", ")}.</p>}
      {hasMasked && rights.includes("reveal") && (
        <p className="key-warning">This key can read masked values in clear text.</p>
      )}
      {hasMasked && !rights.includes("reveal") && (
        <p className="hint">Of masked values, it sees only whether they are there.</p>
      )}
      {commands.length > 0 && rights.includes("commands") && (
        <p className="key-warning">It could set commands and environment variables: {commands.join(", ")}.</p>
      )}
      {commands.length > 0 && !rights.includes("commands") && (
        <p className="hint">Commands and environment variables wait until you accept them: {commands.join(", ")}.</p>
      )}
      {seen.listed.map(({ repository, fields }, index) => (
        <details key={repository.id} open={index === 0}>
          <summary>
            {repository.name} <span className="hint">{counted(fields.length, "field")}</span>
          </summary>
          <ul>
            {fields.map(({ path, isMasked, effect }) => (
              <li key={path}>
                <code>{path}</code> {isMasked && <span className="badge">masked</span>}{" "}
                {effect !== undefined && <span className="badge badge-edited">{effect}</span>}
              </li>
            ))}
          </ul>
        </details>
      ))}
      {more > 0 && <p className="hint">and the same in {counted(more, "more repository", "more repositories")}</p>}
    </aside>
  );
}

function fieldsIn(seen: Seen): readonly SeenField[] {
  return seen.listed.flatMap(({ fields }) => fields);
}

function summary({ repositories, fields }: Seen, grants: Grants): string {
  if (fields === 0 || repositories === 0) return "Nothing yet: choose repositories and fields.";
  const can = grants.some(({ right }) => right === "write") ? "Reads and sets" : "Reads";
  return `${can} ${counted(fields, "field")} in ${counted(repositories, "repository", "repositories")}, and nothing else.`;
}

function counted(count: number, one: string, several = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : several}`;
}
