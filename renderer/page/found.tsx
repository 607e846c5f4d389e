import { useEffect, useState } from "react";
import type { Finding } from "../../shared/protocol.ts";
import { Button } from "../button.tsx";
import { daemon } from "../state/connection.ts";
import { messageOf, notify } from "../state/notices.ts";
import { useScreen } from "../state/store.ts";

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
  const connection = useScreen(state => state.connection);
  const [found, setFound] = useState<readonly Finding[]>([]);
  useEffect(() => {
    if (connection !== "connected") return;
    let isCurrent = true;
    daemon()
      .run("daemon/status", {})
      .then(({ findings = [] }) => isCurrent && setFound(findings.filter(({ repo }) => repo === undefined)))
      .catch(() => {});
    return () => {
      isCurrent = false;
    };
  }, [connection]);
  return [found, id => setFound(some => some.filter(one => one.id !== id))];
}
