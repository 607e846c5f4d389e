import type { ComponentProps, MouseEvent } from "react";

interface ButtonProps extends Omit<ComponentProps<"button">, "disabled" | "aria-disabled"> {
  /** It cannot be pressed for now. */
  readonly unavailable?: boolean;
  /** What it does since it was pressed, such as "Saving…": until that is done it cannot be pressed again. */
  readonly pending?: string | false;
}

/**
 * A button that cannot always be pressed. It is never `disabled`: that takes the focus away from who has just pressed it,
 * and the next key goes to the page.
 */
export function Button({ unavailable = false, pending, type = "button", onClick, children, ...rest }: ButtonProps) {
  const idle = unavailable || Boolean(pending);
  const press = (event: MouseEvent<HTMLButtonElement>) => {
    // A submit button's press, also that by Enter in a text, would send its form.
    if (idle) event.preventDefault();
    else onClick?.(event);
  };
  return (
    <>
      <button {...rest} type={type} aria-disabled={idle} onClick={press}>
        {pending || children}
      </button>
      {pending !== undefined && (
        // That a button's name changes is read by few screen readers.
        <span role="status" className="visually-hidden">
          {pending}
        </span>
      )}
    </>
  );
}
