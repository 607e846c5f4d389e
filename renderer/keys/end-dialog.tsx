import { type ReactNode, useState } from "react";
import { Button } from "../button.tsx";
import { Modal } from "../dialogs/modal.tsx";
import { Failure } from "../fields/problems.tsx";
import { messageOf } from "../state/notices.ts";

interface EndDialogProps {
  readonly title: string;
  readonly children: ReactNode;
  /** The button's label before the action and while it runs. */
  readonly action: string;
  readonly pending: string;
  end(): Promise<unknown>;
  onClose(): void;
}

/** Asks for confirmation before a key or a session ends. */
export function EndDialog({ title, children, action, pending, end, onClose }: EndDialogProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const run = async () => {
    setBusy(true);
    try {
      await end();
      onClose();
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <Modal title={title} onClose={onClose}>
      {children}
      <Failure text={problem} />
      <p className="dialog-tools">
        <button type="button" className="button button-quiet" onClick={onClose}>
          Cancel
        </button>
        <Button className="button button-main" pending={busy && pending} onClick={() => void run()}>
          {action}
        </Button>
      </p>
    </Modal>
  );
}
