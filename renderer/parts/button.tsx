import type { ComponentProps, MouseEvent } from "react";

interface ButtonProps extends Omit<ComponentProps<"button">, "disabled" | "aria-disabled"> {
  /** Whether it cannot be pressed at the moment. */
  readonly unavailable?: boolean;
  /** What it is doing since it was pressed, such as "Saving…". Until that is done, it cannot be pressed again. */
  readonly pending?: string | false;
}

/**
 * A button that is sometimes unavailable. It is never `disabled`: that would drop the focus, and the next key would go to the
 * page.
 */
export function Button({ unavailable = false, pending, type = "button", onClick, children, ...rest }: ButtonProps) {
  const idle = unavailable || Boolean(pending);
  const press = (event: MouseEvent<HTMLButtonElement>) => {
    // Pressing a submit button, or Enter in a text field, would submit the form.
    if (idle) event.preventDefault();
    else onClick?.(event);
  };
  return (
    <>
      <button {...rest} type={type} aria-disabled={idle} onClick={press}>
        {pending || children}
      </button>
      {pending !== undefined && (
        // Few screen readers announce that a button's name has changed.
        <span role="status" className="visually-hidden">
          {pending}
        </span>
      )}
    </>
  );
}
