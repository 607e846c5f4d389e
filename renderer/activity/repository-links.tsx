import { addressOf } from "../state/place.ts";
import { nameOfRepository, useScreen } from "../state/store.ts";
import { FirstOnes } from "./first-ones.tsx";

/** Repositories by name, each with a link to its fields. */
export function RepositoryLinks({ repositories }: { readonly repositories: readonly string[] }) {
  const known = useScreen(state => state.repositories);
  const [only, ...more] = repositories;
  const linkTo = (repo: string) => (
    <a className="link" href={addressOf({ page: "repo", view: "fields", repo })}>
      {nameOfRepository({ repositories: known }, repo)}
    </a>
  );
  if (only !== undefined && more.length === 0) return linkTo(only);
  return (
    <span className="repository-links">
      <FirstOnes most={12} what="repositories">
        {[...new Set(repositories)].map(repo => (
          <span key={repo}>{linkTo(repo)}</span>
        ))}
      </FirstOnes>
    </span>
  );
}
