import { memo, type RefObject, startTransition, useDeferredValue, useEffect, useId, useState } from "react";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { ShownFields } from "./field-filter.ts";
import type { FieldRowProps } from "./field-row.tsx";

/** Of more fields than this, only those that are near what is in sight get their controls. */
const mostWhole = 100;
/** How many of many fields are rendered at once, with their controls; the others follow in short tasks. */
const mostFirst = 12;

interface NearFields {
  readonly scopes: ShownFields["scopes"];
  /** Whether these are all of the shown fields. */
  readonly isAll: boolean;
  /** Whether there are so many that those out of sight are not laid out. */
  readonly areMany: boolean;
  /** Whether the field with this row's id gets its control. */
  isNear(id: string): boolean;
}

/** The fields to render: with thousands of them, each keeps its place with its title, and its control comes when it is scrolled near. */
export function useNearFields(container: RefObject<HTMLElement | null>, shown: ShownFields): NearFields {
  const isWhole = shown.found <= mostWhole;
  const isAll = useDeferredValue(true, isWhole);
  const [near, setNear] = useState<ReadonlySet<string>>(() => new Set(idsOf(firstOf(shown.scopes))));
  const scopes = isAll ? shown.scopes : firstOf(shown.scopes);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other fields are other rows.
  useEffect(() => {
    const scroller = container.current?.closest("main");
    if (isWhole || !scroller) return;
    const observer = new IntersectionObserver(
      entries => {
        const ids = entries.flatMap(({ isIntersecting, target }) => (isIntersecting ? [target.id] : []));
        if (ids.length > 0) startTransition(() => setNear(before => new Set([...before, ...ids])));
      },
      { root: scroller, rootMargin: "100% 0px" },
    );
    for (const row of container.current?.querySelectorAll(".field-far") ?? []) observer.observe(row);
    return () => observer.disconnect();
  }, [container, shown.scopes, isAll, isWhole]);
  return { scopes, isAll, areMany: !isWhole, isNear: id => isWhole || near.has(id) };
}

/** The place of a field that is far from what is in sight: to be found by its title and path. */
export const FarField = memo(function FarField({
  scope,
  field,
  schema,
}: Pick<FieldRowProps, "scope" | "field" | "schema">) {
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
});

function idsOf(scopes: ShownFields["scopes"]): readonly string[] {
  return scopes.flatMap(({ scope, schema }) =>
    Object.keys(schema.properties).map(field => `field-${joinConfigPath(scope, field)}`),
  );
}

function firstOf(scopes: ShownFields["scopes"]): ShownFields["scopes"] {
  let room = mostFirst;
  return scopes.flatMap(entry => {
    const properties = Object.entries(entry.schema.properties).slice(0, room);
    room -= properties.length;
    return properties.length === 0
      ? []
      : [{ ...entry, schema: { ...entry.schema, properties: Object.fromEntries(properties) } }];
  });
}
