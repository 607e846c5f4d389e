/** A daemon that converts homes of an invented older format and kills itself before a file: `converting-process.ts HOME NUMBER`. */
import { pino } from "pino";
import { createDaemon } from "../../main/daemon/daemon.ts";
import { convertOlderHomes } from "./older-format.ts";

const [, , home = "", number] = process.argv;
let files = 0;
convertOlderHomes(() => {
  if (files === Number(number)) process.kill(process.pid, "SIGKILL");
  files += 1;
});
await createDaemon({ home, version: "0.0.0-test", port: 0, logger: pino({ level: "silent" }) });
// Only a test that fails gets here.
process.exit();
