import { copyText } from "../state/copy.ts";

/** A command in a sentence, which ends with the sentence or at a comma. */
const command = /\brun: (repoconf [^,]*?)(?=\.?$|\. |,)/;

/** What the daemon tells of a problem with the home as a whole: first what is wrong, then what to do, a command of it to be copied. */
export function ToldProblem({ text }: { readonly text: string }) {
  const end = text.search(/(?<=\.) (?=[A-Z])/);
  const [wrong, advice] = end === -1 ? [text, ""] : [text.slice(0, end), text.slice(end + 1)];
  const found = command.exec(advice);
  const [, toRun] = found ?? [];
  return (
    <div className="told-problem">
      <p>
        <strong>{wrong}</strong>
      </p>
      {advice !== "" && (
        <p>
          {toRun === undefined || found === null ? (
            advice
          ) : (
            <>
              {advice.slice(0, found.index)}run: <code>{toRun}</code>
              {advice.slice(found.index + found[0].length)}{" "}
              <button
                type="button"
                className="link"
                aria-label={`Copy the command: ${toRun}`}
                onClick={() => void copyText(toRun, `Copied: ${toRun}`, "The command")}
              >
                Copy
              </button>
            </>
          )}
        </p>
      )}
    </div>
  );
}
