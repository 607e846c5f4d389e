/**
 * A first tool: prints how long the services of a repository may take to start. Run it in the folder of a repository.
 */
import { connect } from "repoconf/client";

const client = await connect();
const { id, name } = await client.run("repo/find", { path: process.cwd() });
console.log(`${name}: ${await client.get(id, "svc.timeout")} seconds`);
client.close();
