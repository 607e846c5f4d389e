/**
 * A local tool that uses the typed client: it finds the key, checks replies for errors, and a value of the wrong type does not compile.
 *
 *   node examples/client.ts REPOSITORY
 *
 * REPOSITORY is the id of one, as in `repoconf repo list`.
 */
import { connect, RepoconfError } from "repoconf/client";

const [repo = ""] = process.argv.slice(2);
try {
  // Finds the running daemon, verifies that it is the right one, and authenticates with your key.
  using client = await connect();
  await client.set(repo, { "svc.timeout": 30, "svc.proxy_aliases": ["a.test"] }, { reason: "the database is slow" });
  const timeout = await client.get(repo, "svc.timeout"); // a number
  const { svc } = await client.list(repo);
  console.log(`${timeout} seconds, reached as ${svc.proxy_aliases.join(", ")}`);
} catch (error) {
  if (!(error instanceof RepoconfError)) throw error;
  console.error(`${error.code} ${error.message}`);
  process.exitCode = 1;
}
