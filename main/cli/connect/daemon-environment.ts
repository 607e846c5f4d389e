/**
 * The variables of a terminal that reach a daemon which a command starts: what Node and the system's libraries read. The daemon runs no
 * programs (commands of secrets run in the command line), and everything else about it is in the home and in its arguments.
 */
const kept = /^(HOME|USER|LOGNAME|PATH|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR)$/;
/** Windows ignores case. Node adds the system's own, such as SystemRoot. */
const keptOnWindows = /^(USERPROFILE|USERNAME|APPDATA|LOCALAPPDATA|PATH|TEMP|TMP|TZ)$/i;

/**
 * The environment of a daemon that outlives the terminal. Not inherited: NODE_OPTIONS could open a debugger for every user of the machine
 * or load code, and the terminal's secrets would stay in the process.
 */
export function daemonEnvironment(): NodeJS.ProcessEnv {
  const names = process.platform === "win32" ? keptOnWindows : kept;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => names.test(name)));
}
