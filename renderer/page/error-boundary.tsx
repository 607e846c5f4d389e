import { Component, type ReactNode } from "react";
import { CopyEdits } from "../edits/copy-edits.tsx";
import { useScreen } from "../state/store.ts";

interface ErrorBoundaryProps {
  readonly children: ReactNode;
  /** What is shown instead; `again` retries. */
  fallback(message: string, again: () => void): ReactNode;
}

interface ErrorBoundaryState {
  readonly failure?: { readonly message: string } | undefined;
}

/** A part of the page whose failure affects nothing else. Edits are stored elsewhere and stay. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, ErrorBoundaryState> {
  override state: ErrorBoundaryState = {};

  static getDerivedStateFromError(error: unknown): ErrorBoundaryState {
    return { failure: { message: error instanceof Error ? error.message : String(error) } };
  }

  override render(): ReactNode {
    const { failure } = this.state;
    if (failure === undefined) return this.props.children;
    return this.props.fallback(failure.message, () => this.setState({ failure: undefined }));
  }
}

interface FailedPartProps {
  /** As the beginning of a sentence: "The page". */
  readonly what: string;
  readonly message: string;
  again(): void;
}

/** Shown in place of a part that failed. */
export function FailedPart({ what, message, again }: FailedPartProps) {
  const edited = useScreen(state => state.pending.size > 0);
  return (
    <section className="failed-part" role="alert">
      <p>
        {what} cannot be shown: {message}
      </p>
      {edited && <p>Your edits are kept.</p>}
      <p className="dialog-tools">
        <button type="button" className="button" onClick={again}>
          Try again
        </button>
        {edited && <CopyEdits />}
      </p>
    </section>
  );
}
