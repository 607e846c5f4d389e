import { type FormEvent, type ReactNode, useState } from "react";
import { messageOf } from "../state/notices.ts";
import { DialogFoot } from "./dialog-foot.tsx";
import { Modal } from "./modal.tsx";

interface ActionDialogProps {
  readonly title: string;
  /** What the button says, and what it says while it is under way. */
  readonly action: readonly [text: string, pending: string];
  readonly unavailable?: boolean;
  /** It changes values: the person may say why, which stays in the history. */
  readonly asksReason?: boolean;
  /** Why nothing can be done, before it is tried. */
  readonly problem?: string | undefined;
  readonly children: ReactNode;
  /** Rejects with a message if it cannot be done. `reason`: empty if none is given. */
  onSubmit(reason: string): Promise<void>;
  onClose(): void;
}

/** A dialog that does one thing, such as removing a repository or ending a session: it closes once that is done, and says why it is not. */
export function ActionDialog(props: ActionDialogProps) {
  const { title, action, unavailable = false, asksReason, children, onSubmit, onClose } = props;
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<string>();
  const [pending, setPending] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (pending || unavailable) return;
    setPending(true);
    setProblem(undefined);
    try {
      await onSubmit(reason.trim());
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
        <DialogFoot
          {...(asksReason && { reason, onReason: setReason })}
          problem={problem ?? props.problem}
          unavailable={unavailable}
          pending={pending && action[1]}
          onClose={onClose}
        >
          {action[0]}
        </DialogFoot>
      </form>
    </Modal>
  );
}
