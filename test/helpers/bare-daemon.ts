import { pino } from "pino";
import { createDaemon } from "../../main/daemon/daemon.ts";

// Runs a daemon in a separate process, straight from the sources, for tests that kill it: `node bare-daemon.ts HOME`.
const [, , home = ""] = process.argv;
await createDaemon({ home, version: "0.0.0-test", port: 0, logger: pino({ level: "silent" }) });
