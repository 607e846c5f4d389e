// What a tool does with the typed client: RUNTIME tool.mjs CLIENT REPOSITORY, with REPOCONF_HOME. It prints one line of JSON.
const [client, repo] = process.argv.slice(2);
const { connect, RepoconfError } = await import(client);
const connection = await connect();
const watching = new AbortController();
const seen = [];
const watched = (async () => {
  const { revision } = (await connection.repositories())[0];
  for await (const { changes } of connection.watch({ repo, since: revision, signal: watching.signal })) {
    seen.push(...Object.entries(changes.svc));
    break;
  }
})();
await connection.set(repo, { "svc.timeout": 31 });
await watched;
const refused = await connection.set(repo, { "svc.timeout": "soon" }).catch(error => error);
const timeout = await connection.get(repo, "svc.timeout");
connection.close();
process.stdout.write(
  `${JSON.stringify({ timeout, seen, refused: refused instanceof RepoconfError && refused.code })}\n`,
);
process.exit(0);
