import { homeOf, openSession } from "../connect/session.ts";
import { counted } from "./finding.ts";

/** Dismisses one finding of the daemon by its id, or `all`. Returns a sentence about what it did. Throws RepoconfError 1112. */
export async function dismissFindings(named: string, options: { readonly home?: string }): Promise<string> {
  const home = homeOf(options);
  using session = await openSession({ home: home.folder, keyFile: home.ownerKeyFile, start: true });
  const { client } = session;
  const { findings = [] } = await client.run("daemon/status", {});
  const ids = named === "all" ? findings.map(({ id }) => id) : [named];
  for (const id of ids) await client.run("daemon/dismiss", { id });
  return `Dismissed ${counted(ids.length, "finding")}.`;
}
