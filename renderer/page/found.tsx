import { useEffect, useState } from "react";
import type { Finding, RepositoryEntry } from "../../shared/protocol.ts";
import { Button } from "../button.tsx";
import { daemon } from "../state/connection.ts";
import { messageOf, notify } from "../state/notices.ts";

interface DismissProps {
  readonly finding: string;
  /** Called once it is dismissed. About a repository, the daemon also sends its new health. */
  readonly onDismissed?: () => void;
}

/** Dismisses something that the daemon found: it is not told any more. */
export function Dismiss({ finding, onDismissed }: DismissProps) {
  const [pending, setPending] = useState(false);
  const dismiss = async () => {
    setPending(true);
    try {
      await daemon().run("daemon/dismiss", { id: finding });
      onDismissed?.();
    } catch (error) {
      notify("problem", messageOf(error));
    }
    setPending(false);
  };
  return (
    <Button className="button" pending={pending && "Dismissing…"} onClick={() => void dismiss()}>
      Dismiss
    </Button>
  );
}

/** What the daemon found about the home as a whole: asked for again when what it says of repositories changes. */
export function useFoundInHome(repositories: readonly RepositoryEntry[]): [readonly Finding[], (id: string) => void] {
  const [found, setFound] = useState<readonly Finding[]>([]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: no event says that something was found about the home.
  useEffect(() => {
    let isCurrent = true;
    daemon()
      .run("daemon/status", {})
      .then(({ findings = [] }) => isCurrent && setFound(findings.filter(({ repo }) => repo === undefined)))
      .catch(() => {});
    return () => {
      isCurrent = false;
    };
  }, [repositories]);
  return [found, id => setFound(some => some.filter(one => one.id !== id))];
}
