import type { ComponentProps, MouseEvent } from "react";

interface ButtonProps extends Omit<ComponentProps<"button">, "disabled" | "aria-disabled"> {
  /** It cannot be pressed for now. */
  readonly unavailable?: boolean;
  /** What it does since it was pressed, such as "Saving…": until that is done it cannot be pressed again. */
  readonly pending?: string | false;
}

/**
 * A button that is sometimes unavailable. It is never `disabled`: if it had the focus, the focus would be lost, and the next key would
 * go to the page.
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
