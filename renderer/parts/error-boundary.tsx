import { Component, type ReactNode } from "react";
import { useScreen } from "../state/store.ts";
import { CopyEdits } from "./copy-edits.tsx";

interface ErrorBoundaryProps {
  readonly children: ReactNode;
  /** Rendered instead; `again` retries. */
  fallback(message: string, again: () => void): ReactNode;
}

interface ErrorBoundaryState {
  readonly failure?: { readonly message: string } | undefined;
}

/** Confines a failure to one part of the page. Edits are stored elsewhere and are kept. */
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
  /** The beginning of a sentence, such as "The page". */
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
