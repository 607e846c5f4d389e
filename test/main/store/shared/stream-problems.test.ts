import { expect, test } from "vitest";
import { unreachable } from "../../../../main/store/shared/stream/stream-problems.ts";

const address = { name: "team", servers: ["localhost:4222"], isEncrypted: false };

// What the system, the server and its library say.
test.each([
  ["connection closed", "read the server's log"],
  ["draining connection", "read the server's log"],
  ["read ECONNRESET", "read the server's log"],
  ["JetStream system temporarily unavailable", "check that most of them run"],
  ["the server was cut off from its cluster", "check that most of them run"],
  ["connect ECONNREFUSED 127.0.0.1:4222", "Start the server"],
  ["getaddrinfo ENOTFOUND nats", "Check the server's name"],
  ["timeout", "Check that the server runs"],
  ["stream not found", "Check the name at the end of its address"],
  ["Authorization Violation", 'Check "credentials"'],
  ["self-signed certificate", 'Check "ca"'],
  ["maximum consumers limit reached", "this ends by itself"],
  ["insufficient resources", "Free space on the server's disk"],
])("a log that cannot be reached because of %j comes with advice", (cause, advice) => {
  expect(unreachable(address, cause)).toContain(`(${cause}): the last known values are served`);
  expect(unreachable(address, cause)).toContain(advice);
});
