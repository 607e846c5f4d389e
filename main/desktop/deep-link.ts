import { isRepositoryId } from "../../shared/repository-id.ts";
import type { ScreenLink } from "../../shared/shell-bridge.ts";

/**
 * The target of the first `repoconf://repo/ID/FIELD` link in the command line; undefined if there is none or it is invalid. Links come
 * from anywhere, so they only open a page and never change anything.
 */
export function deepLinkIn(argv: readonly string[]): ScreenLink | undefined {
  const text = argv.find(one => one.startsWith("repoconf://"));
  const url = text === undefined ? null : URL.parse(text);
  if (url === null || url.hostname !== "repo") return undefined;
  const [repo = "", field, ...rest] = url.pathname.split("/").slice(1);
  if (!isRepositoryId(repo) || rest.length > 0) return undefined;
  return field !== undefined && /^[A-Za-z][\w-]*\.[A-Za-z][\w.-]*$/.test(field) ? { repo, field } : { repo };
}
