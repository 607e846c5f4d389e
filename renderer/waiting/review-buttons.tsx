import { Button } from "../parts/button.tsx";

interface ReviewButtonsProps {
  readonly field: string;
  /** What is under way, as the button that did it says. */
  readonly pending: string | undefined;
  show(): void;
  /** What accepts the value, once it is shown: the button's text, and the text while that is under way. */
  readonly title: string;
  readonly accepting: string;
  readonly accept: (() => void) | undefined;
}

/** Shows a value that waits for a person, who can accept it only then. */
export function ReviewButtons({ field, pending, show, title, accepting, accept }: ReviewButtonsProps) {
  return (
    <>
      <Button className="button" pending={pending === "Reading…" && pending} onClick={show}>
        Show<span className="visually-hidden">: {field}</span>
      </Button>
      <Button
        className="button"
        unavailable={accept === undefined}
        pending={pending === accepting && pending}
        onClick={() => accept?.()}
      >
        {title}
        <span className="visually-hidden">: {field}</span>
      </Button>
    </>
  );
}
