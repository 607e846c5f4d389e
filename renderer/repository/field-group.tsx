import { memo, useEffect, useId, useRef, useState } from "react";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";
import type { Content, ContentQueue } from "./content-queue.ts";
import { FieldRow, type FieldRowProps } from "./field-row.tsx";

/** The least height of a field in rem, as in fields.css. */
const leastHeight = 2.75;

interface FieldGroupProps extends Pick<FieldRowProps, "repo" | "scope" | "holdsDetails" | "onFocus"> {
  readonly fields: readonly (readonly [field: string, schema: FieldSchema])[];
  readonly queue: ContentQueue;
  /** Whether it has its controls from the beginning. */
  readonly isFirst: boolean;
  /** Its field that the address names; undefined: none of them. */
  readonly current: string | undefined;
}

/** Fields that stand together, and get their controls together when they are scrolled near; until then they are found by title and path. */
export const FieldGroup = memo(function FieldGroup(props: FieldGroupProps) {
  const { fields, queue, isFirst, current, ...shared } = props;
  const element = useRef<HTMLDivElement>(null);
  const [begin] = useState<Content>(isFirst ? "controls" : "room");
  const [{ content, height }, setShown] = useState<{ readonly content: Content; readonly height?: number | undefined }>(
    { content: begin },
  );
  useEffect(() => {
    if (element.current === null) return undefined;
    return queue.add({
      element: element.current,
      content: begin,
      show: (content, height) => setShown({ content, height }),
    });
  }, [queue, begin]);
  const isWhole = content === "controls" || current !== undefined;
  const room = `${fields.length * leastHeight}rem`;
  const least = content === "room" ? room : height && `${height}px`;
  return (
    <div
      ref={element}
      className="field-group"
      style={{ minBlockSize: isWhole ? undefined : least, containIntrinsicBlockSize: `auto ${room}` }}
    >
      {(isWhole || content === "titles") &&
        fields.map(([field, schema]) =>
          isWhole ? (
            <FieldRow key={field} {...shared} field={field} schema={schema} current={field === current} />
          ) : (
            <FarField key={field} scope={shared.scope} field={field} schema={schema} />
          ),
        )}
    </div>
  );
});

/** The place of a field that is far from what is in sight: to be found by its title and path. */
function FarField({ scope, field, schema }: Pick<FieldRowProps, "scope" | "field" | "schema">) {
  const id = useId();
  const path = joinConfigPath(scope, field);
  return (
    <section className="field field-far" id={`field-${path}`} aria-labelledby={`${id}-title`}>
      <div className="field-head">
        <h3 id={`${id}-title`}>{schema.title ?? field}</h3>
        <code className="field-path">{path}</code>
      </div>
    </section>
  );
}
