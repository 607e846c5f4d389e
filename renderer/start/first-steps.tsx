import type { ReactNode } from "react";

interface FirstStepsProps {
  readonly hasRepository: boolean;
  onAdd(): void;
}

/** The way from an empty home to the first value that a program uses; shown until a value is stored. */
export function FirstSteps({ hasRepository, onAdd }: FirstStepsProps) {
  return (
    <ol className="steps" aria-label="First steps">
      <Step title="Add a repository" isDone={hasRepository}>
        <p>A folder whose configuration Repoconf keeps, here or in a file that you commit with the code.</p>
        {!hasRepository && (
          <p>
            <button type="button" className="button button-main" onClick={onAdd}>
              Add a repository
            </button>
          </p>
        )}
      </Step>
      <Step title="Give it a value" isDone={false}>
        <p>
          Choose it among the repositories, change a field and save; or, in its folder,{" "}
          <code>repoconf set svc.envvars.PORT=8080</code>.
        </p>
      </Step>
      <Step title="Use it" isDone={false}>
        <p>
          <code>repoconf run -- npm start</code> starts a program with its variables, and{" "}
          <code>eval "$(repoconf hook bash)"</code> at the end of <code>~/.bashrc</code> loads them whenever you enter
          the folder. A tool of yours connects with a key.
        </p>
      </Step>
    </ol>
  );
}

interface StepProps {
  readonly title: string;
  readonly isDone: boolean;
  readonly children: ReactNode;
}

function Step({ title, isDone, children }: StepProps) {
  return (
    <li data-done={isDone}>
      <h2>
        {title} {isDone && <span className="badge">done</span>}
      </h2>
      {children}
    </li>
  );
}
