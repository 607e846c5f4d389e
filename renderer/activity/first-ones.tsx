import { type ReactNode, useState } from "react";

interface FirstOnesProps {
  readonly most: number;
  /** What the entries are, in the plural. */
  readonly what: string;
  readonly children: readonly ReactNode[];
}

/** The first of many entries, and the rest on request. */
export function FirstOnes({ most, what, children }: FirstOnesProps) {
  const [isWhole, setIsWhole] = useState(false);
  // A button that hides a single entry would save no space.
  if (isWhole || children.length <= most + 1) return children;
  return (
    <>
      {children.slice(0, most)}
      <button type="button" className="link" onClick={() => setIsWhole(true)}>
        Show {children.length - most} more {what}
      </button>
    </>
  );
}
