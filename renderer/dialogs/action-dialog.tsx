import { type FormEvent, type ReactNode, useState } from "react";
import { Button } from "../button.tsx";
import { Failure } from "../fields/problems.tsx";
import { messageOf } from "../state/notices.ts";
import { Modal } from "./modal.tsx";

interface ActionDialogProps {
  readonly title: string;
  /** What the button says, and what it says while it is under way. */
  readonly action: readonly [text: string, pending: string];
  readonly unavailable?: boolean;
  readonly children: ReactNode;
  /** Rejects with the reason if it cannot be done. */
  onSubmit(): Promise<void>;
  onClose(): void;
}

/** A dialog that does one thing, such as removing a repository or ending a session: it closes once that is done, and says why it is not. */
export function ActionDialog(props: ActionDialogProps) {
  const { title, action, unavailable = false, children, onSubmit, onClose } = props;
  const [problem, setProblem] = useState<string>();
  const [pending, setPending] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (pending || unavailable) return;
    setPending(true);
    setProblem(undefined);
    try {
      await onSubmit();
      onClose();
    } catch (error) {
      setProblem(messageOf(error));
      setPending(false);
    }
  };
  return (
    <Modal title={title} onClose={onClose}>
      <form className="review" onSubmit={event => void submit(event)}>
        {children}
        <Failure text={problem} />
        <p className="dialog-tools">
          <button type="button" className="button button-quiet" onClick={onClose}>
            Cancel
          </button>
          <Button type="submit" className="button button-main" unavailable={unavailable} pending={pending && action[1]}>
            {action[0]}
          </Button>
        </p>
      </form>
    </Modal>
  );
}
