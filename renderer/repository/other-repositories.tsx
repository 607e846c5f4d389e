import { useState } from "react";
import { type Config, configValue } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";
import { Button } from "../parts/button.tsx";
import { FoldedText } from "../parts/folded-text.tsx";
import { mask, showJson } from "../parts/show-json.ts";
import { daemon } from "../state/connection.ts";
import { messageOf, notify } from "../state/notices.ts";
import { addressOf } from "../state/place.ts";
import { nameOfRepository, useScreen } from "../state/store.ts";

/** The maximum of listed repositories; the matrix shows the rest. */
const maxListed = 10;

interface OtherRepositoriesProps {
  readonly repo: string;
  readonly scope: string;
  readonly field: string;
  readonly schema: FieldSchema;
}

interface Found {
  readonly id: string;
  readonly config: Config;
}

/**
 * The field's value in other repositories, those that store one first. Loaded by a button, because the daemon may have to read
 * all of them.
 */
export function OtherRepositories({ repo, scope, field, schema }: OtherRepositoriesProps) {
  const repositories = useScreen(state => state.repositories);
  const [pending, setPending] = useState(false);
  const [found, setFound] = useState<{ readonly stored: readonly Found[]; readonly others: number }>();
  const path = joinConfigPath(scope, field);
  const findValues = async () => {
    setPending(true);
    try {
      const matrix = await daemon().matrix(`field:${path} modified`);
      const ids = matrix.repositories.filter(id => id !== repo);
      const rows = await daemon().cells(ids.slice(0, maxListed), [path]);
      setFound({ stored: rows.map(({ repo: id, config }) => ({ id, config })), others: ids.length });
    } catch (error) {
      notify("problem", messageOf(error), path);
    }
    setPending(false);
  };
  if (found === undefined)
    return (
      <p>
        <Button className="button" pending={pending && "Reading…"} onClick={() => void findValues()}>
          Show its value in other repositories
        </Button>
      </p>
    );
  const rest = (repositories?.length ?? 1) - 1 - found.others;
  return (
    <section aria-label="In other repositories">
      <h3>In other repositories</h3>
      <ul className="changes">
        {found.stored.map(({ id, config }) => (
          <li key={id}>
            <a className="link" href={addressOf({ page: "repo", view: "fields", repo: id, scope, field })}>
              {nameOfRepository({ repositories }, id)}
            </a>
            <FoldedText text={valueText(config)} name={nameOfRepository({ repositories }, id)} />
          </li>
        ))}
        {found.others > found.stored.length && (
          <li>
            <a className="link" href={addressOf({ page: "matrix", query: `field:${path} modified` })}>
              and {found.others - found.stored.length} more
            </a>
          </li>
        )}
        {rest > 0 && (
          <li className="hint">
            {rest} with the default, {showJson(schema.default, schema)}
          </li>
        )}
      </ul>
    </section>
  );

  function valueText(config: Config): string {
    const value = configValue(config, scope, field);
    // The daemon does not send masked values.
    return value === undefined ? mask : showJson(value, schema);
  }
}
