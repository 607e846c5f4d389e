import { ago } from "./ago.ts";

/** How long ago a time was, or how soon it will be; the time itself on a look. */
export function When({ time }: { readonly time: string }) {
  return (
    <time dateTime={time} title={new Date(time).toLocaleString()}>
      {ago(time)}
    </time>
  );
}
