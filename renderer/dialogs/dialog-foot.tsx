import type { ReactNode } from "react";
import { Failure } from "../fields/problems.tsx";
import { Button } from "../parts/button.tsx";

interface DialogFootProps {
  /** Of a dialog that changes values: the reason for the history. */
  readonly reason?: string;
  onReason?(reason: string): void;
  /** The error of the request. */
  readonly problem: string | undefined;
  /** Whether the action is currently unavailable. */
  readonly unavailable: boolean;
  /** The running action; false: none. */
  readonly pending: string | false;
  onClose(): void;
  /** The label of the button that performs it. */
  readonly children: ReactNode;
}

/** The bottom of a dialog, with errors and the two buttons; of one that changes values in sight, however long it is. */
export function DialogFoot({ reason, onReason, problem, unavailable, pending, onClose, children }: DialogFootProps) {
  return (
    <div className={reason === undefined ? undefined : "change-foot"}>
      {reason !== undefined && (
        <label className="labelled">
          Reason <span className="hint">(optional; it stays in the history)</span>
          <input className="input" maxLength={1000} value={reason} onChange={event => onReason?.(event.target.value)} />
        </label>
      )}
      <Failure text={problem} />
      <p className="dialog-tools">
        <button type="button" className="button button-quiet" onClick={onClose}>
          Cancel
        </button>
        <Button type="submit" className="button button-main" unavailable={unavailable} pending={pending}>
          {children}
        </Button>
      </p>
    </div>
  );
}
