import { describeCause } from "../../../files/describe-cause.ts";
import { FullLogError } from "./full-log-error.ts";
import type { StreamAddress } from "./stream-address.ts";
import type { StreamStatus } from "./stream-session.ts";

const makeRoom =
  "Free space on the server's disk, or raise the limit that it has reached: of the server (max_file_store under jetstream in its configuration), of the account, or of the stream (nats stream edit). The next change shows whether that helped.";
/** The part of its limit from which on a stream counts as nearly full. */
const nearlyFull = 0.9;

/** How one machine's home becomes a new stream. */
const startOver =
  'stop its daemon, delete log/stream.json in its home, remove "log" from settings.json, and run: repoconf log copy --to ADDRESS, with another name.';

/*
 * What is wrong with a stream, as sentences that say what to do. The daemon shows them in its list of problems.
 */

export function unreachable({ name, servers }: StreamAddress, cause: string): string {
  const advice = adviceOn(cause);
  return `The shared log ${name} at ${servers.join(", ")} cannot be reached (${cause}): the last known values are served, and changes are refused. Repoconf keeps retrying.${advice === undefined ? "" : ` ${advice}`}`;
}

/** What to do about the cause of a failed connection; undefined if its text says that already. */
export function adviceOn(cause: string): string | undefined {
  return advices.find(([pattern]) => pattern.test(cause))?.[1];
}

/** By what the system, the server or its library says. */
const advices: readonly (readonly [RegExp, string])[] = [
  [
    /stream not found/i,
    `Check the name at the end of its address ("log" in settings.json). If the stream was deleted, put the home of one machine into a new one: ${startOver}`,
  ],
  [
    /timeout|timed out/i,
    "Check that the server runs and that the network leads to it. If its disk was full, it answers again only after there is room and it was restarted.",
  ],
  [
    /connection closed|disconnect|draining|ECONNRESET|EPIPE/i,
    "The server ended the connection, as it does when it is restarted. If this lasts, read the server's log.",
  ],
  [
    /temporarily unavailable|cut off from its cluster/i,
    "The servers of a cluster may be choosing their leader, which takes seconds. If this lasts, check that most of them run and reach one another.",
  ],
  [/ECONNREFUSED|connection refused/i, "Start the server, or correct its address."],
  [/ENOTFOUND|EAI_AGAIN/, "Check the server's name in the address, and the network."],
  [/jetstream.*not.*enabled|no responders/i, "Start the server with JetStream (nats-server --jetstream)."],
  [
    /authori[sz]ation|authentication|permissions/i,
    'Check "credentials" under "log" in settings.json, and what the server allows them.',
  ],
  [/certificate|self.signed|TLS/i, 'Check "ca", "certificate" and "key" under "log" in settings.json.'],
  [
    /maximum consumers/i,
    "Too many connections have followed the stream lately. The server forgets those that ended within a minute, so this ends by itself.",
  ],
  [/resources|maximum/i, makeRoom],
];

export function beingRead({ name }: StreamAddress, missed: number): string {
  return `The shared log ${name} is being read. Messages that are missing here: ${missed.toLocaleString("en")}. Until then, earlier values are served, and changes wait.`;
}

export function diverged(why: string): string {
  return `${why} The last known values are served, and changes are refused. To put this machine back on the log, and keep aside what only it has, run: repoconf log rejoin`;
}

/** `error`: with which the server refused a change. */
export function refused({ name }: StreamAddress, error: unknown): string {
  if (error instanceof FullLogError)
    return `The shared log ${name} is full: the server had no room for the last change (${error.said}). Changes are refused until there is room, and edits of files wait there. ${makeRoom}`;
  const why = describeCause(error);
  return `The server of the shared log ${name} refused the last change (${why}). Edits of files wait there. Fix the cause; the next change shows whether that helped.`;
}

/** What a person should know of a stream that can be appended to, as sentences with what to do. `missed`: messages that are not applied here. */
export function warningsOf(status: StreamStatus, address: StreamAddress, missed: number): string[] {
  const { name, replicas = status.advisedReplicas } = address;
  const { bytes, maxBytes, missing } = status;
  const warnings: string[] = [];
  if (missed > 0)
    warnings.push(
      `This machine is ${missed.toLocaleString("en")} messages of the shared log ${name} behind, so values may be outdated. If that lasts, look for what slows it down: the disk, the network or other programs.`,
    );
  if (missing.length > 0)
    warnings.push(
      `The shared log ${name} has lost ${missing.join(" and ")}, ${missing.length} of its ${status.replicas} servers. Changes go on, but stop if more fail. Start it again, or reconnect it to the others.`,
    );
  if (status.replicas < replicas)
    warnings.push(
      `The shared log ${name} is stored on ${status.replicas} of the ${replicas} servers that it should be on, so changes may be lost if one fails. Set "replicas" under "log" in settings.json to ${replicas} and restart this daemon: it asks the cluster for them, which must have as many.`,
    );
  if (maxBytes > 0 && bytes > nearlyFull * maxBytes)
    warnings.push(
      `The shared log ${name} is nearly full: ${bytes.toLocaleString("en")} of ${maxBytes.toLocaleString("en")} bytes. When it is full, changes are refused. Raise its limit (nats stream edit ${name} --max-bytes), or let Repoconf shorten it earlier ("bytes" under "log" in settings.json).`,
    );
  return warnings;
}

/** Why an empty home cannot read a stream that can be reached. */
export function unreadable(why: string): string {
  return `${why} So no machine can read the log from its beginning on the server that leads it: that one has lost a change, or keeps one on which the servers never agreed. Let another server lead it (nats stream cluster step-down NAME), and try again. If none has the whole log, choose the machine whose values should count: ${startOver} The others join that one with empty homes.`;
}
