import type { ValueProblem } from "./validate.ts";

/** The problems of a value, shown beside it. */
export function Problems({ id, problems }: { readonly id?: string; readonly problems: readonly ValueProblem[] }) {
  if (problems.length === 0) return undefined;
  const messages = [...new Set(problems.map(({ message }) => message))];
  return (
    <p className="problem" id={id} role="alert">
      {messages.join(" ")}
    </p>
  );
}

/** The error of a request, in the dialog that made it. */
export function Failure({ id, text }: { readonly id?: string; readonly text: string | undefined }) {
  if (text === undefined) return undefined;
  return (
    <p className="problem" id={id} role="alert">
      {text}
    </p>
  );
}
