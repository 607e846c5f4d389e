import { ago } from "./ago.ts";

/** How long ago a time was, or how soon it will be; the tooltip has the exact time. */
export function When({ time }: { readonly time: string }) {
  return (
    <time dateTime={time} title={new Date(time).toLocaleString()}>
      {ago(time)}
    </time>
  );
}
