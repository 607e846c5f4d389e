import type { RepoconfClient } from "../../../shared/client/client.ts";

/** How a command asks for what needs no events: a connection can, and so can requests of one shot. */
export type Requests = Pick<RepoconfClient, "request" | "run">;
