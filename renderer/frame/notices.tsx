import { dismiss } from "../state/notices.ts";
import { useScreen } from "../state/store.ts";

/** Messages about recent events. */
export function Notices() {
  const notices = useScreen(state => state.notices);
  return (
    <div className="notices" role="log" aria-label="Messages" aria-live="polite">
      {notices.map(({ id, kind, text, action }) => (
        <p key={id} className="notice" data-kind={kind}>
          <span>{text}</span>
          {action !== undefined && (
            <button
              type="button"
              className="button"
              onClick={() => {
                action.run();
                dismiss(id);
              }}
            >
              {action.text}
            </button>
          )}
          <button type="button" className="button button-quiet" onClick={() => dismiss(id)}>
            Close
          </button>
        </p>
      ))}
    </div>
  );
}
