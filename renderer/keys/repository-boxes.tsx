import { useScreen } from "../state/store.ts";
import { type Box, BoxList } from "./box-list.tsx";

/** Ids, or every repository, including future ones. */
export type ChosenRepositories = "*" | ReadonlySet<string>;

interface RepositoryBoxesProps {
  readonly chosen: ChosenRepositories;
  readonly problem: string | undefined;
  onChange(chosen: ChosenRepositories): void;
}

/** The choice of repositories for a key. */
export function RepositoryBoxes({ chosen, problem, onChange }: RepositoryBoxesProps) {
  const repositories = useScreen(state => state.repositories) ?? [];
  const names = new Map<string, number>();
  for (const { name } of repositories) names.set(name, (names.get(name) ?? 0) + 1);
  const boxes: Box[] = [
    {
      id: "*",
      name: "All repositories",
      note: <span className="hint">including future ones</span>,
      level: 0,
      checked: chosen === "*" || (chosen.size > 0 && "mixed"),
    },
    ...repositories.map(({ id, name, path }) => ({
      id,
      name,
      // Distinguishes repositories with the same name.
      note: (names.get(name) ?? 0) > 1 && <span className="hint">{path ?? id}</span>,
      level: 1 as const,
      checked: chosen === "*" || chosen.has(id),
    })),
  ];
  const toggle = (id: string, checked: boolean) => {
    if (id === "*") return onChange(checked ? "*" : new Set());
    const next = new Set(chosen === "*" ? repositories.map(entry => entry.id) : chosen);
    if (checked) next.add(id);
    else next.delete(id);
    onChange(next);
  };
  return <BoxList legend="Repositories" ofWhat="repositories" boxes={boxes} problem={problem} onToggle={toggle} />;
}
