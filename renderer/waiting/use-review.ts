import { useState } from "react";
import { messageOf, notify } from "../state/notices.ts";

/** A value that a person reviews before it counts: what is shown of it, and the step that is under way, by the name on its button. */
export function useReview<Shown, Step extends string>() {
  const [shown, setShown] = useState<Shown>();
  const [pending, setPending] = useState<Step>();
  const during = async (step: Step, task: () => Promise<void>) => {
    setPending(step);
    try {
      await task();
    } catch (error) {
      notify("problem", messageOf(error));
      // What was shown may be another value now.
      setShown(undefined);
    }
    setPending(undefined);
  };
  return { shown, setShown, pending, during };
}
