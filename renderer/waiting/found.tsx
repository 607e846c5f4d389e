import { useState } from "react";
import type { Finding } from "../../shared/protocol.ts";
import { Button } from "../parts/button.tsx";
import { daemon } from "../state/connection.ts";
import { messageOf, notify } from "../state/notices.ts";
import { useAnswer } from "../state/use-answer.ts";

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

/** What the daemon found about the home as a whole, nearly always at its start; and drops one that was dismissed. */
export function useFoundInHome(): [readonly Finding[], (id: string) => void] {
  const [dropped, setDropped] = useState<readonly string[]>([]);
  const { findings = [] } = useAnswer(() => daemon().run("daemon/status", {}), []) ?? {};
  const found = findings.filter(({ id, repo }) => repo === undefined && !dropped.includes(id));
  return [found, id => setDropped([...dropped, id])];
}
