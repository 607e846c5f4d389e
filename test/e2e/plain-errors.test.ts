import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { makeServedHome } from "../helpers/command-home.ts";
import { repoconfCommand, runProcess } from "../helpers/spawned-daemon.ts";

const home = await makeServedHome();
afterAll(() => home[Symbol.asyncDispose]());
const folder = join(home.workFolder, "shop");
await mkdir(join(folder, ".git"), { recursive: true });
await home.succeed(["repo", "add", folder]);

const utf16 = Buffer.from('\uFEFF{ "svc": { "timeout": 30 } }', "utf16le");
await writeFile(join(folder, "utf16.json"), utf16);
await writeFile(join(folder, "deep.json"), "[".repeat(100_000) + "]".repeat(100_000));
await runProcess("mkfifo", [join(folder, "pipe")]);

/** Runs a line of bash, in which `rc` is the built command. It prints its own errors elsewhere. */
async function inShell(line: string) {
  const script = `rc() { "$node" "$command" "$@"; }; exec 3>&2 2>/dev/null; ${line}`;
  const environment = { REPOCONF_HOME: home.homeFolder, node: process.execPath, command: repoconfCommand };
  return runProcess("bash", ["-c", script], { folder, environment });
}

/** The rows of a table, whose cells stand between bars: title, exit code, a line of bash, and what is told. */
const rows = (table: string) =>
  table
    .trim()
    .split("\n")
    .map(row => row.trim().split(" | ")) as [string, string, string, string?][];

describe("UTF-16 is refused at every door, and nothing is stored", () => {
  test.each(
    rows(`
      a file | 2 | rc set svc.domain=@utf16.json
      standard input | 2 | rc set svc.domain=- < utf16.json
      a file that the shell opened | 2 | rc set svc.domain=@<(cat utf16.json)
      a mapping | 2 | rc import --yes deep.json --map utf16.json
      an editor's value | 3 | EDITOR='cp utf16.json' rc edit svc.domain
      an editor's file | 3 | EDITOR='cp utf16.json' rc edit
      a key | 5 | rc get --key-file utf16.json svc.timeout
      a schema in a clone | 3 | mkdir -p one/.repoconf/scopes; cp utf16.json one/.repoconf/scopes/app.schema.json; rc check one >&3
      the values in a clone | 1 | mkdir two; cd two; cp ../utf16.json .repoconf.json; rc get --offline svc.timeout
      the settings | 1 | mkdir three; cp utf16.json three/settings.json; REPOCONF_HOME=$PWD/three; rc settings
    `),
  )("%s", async (_title, code, line) => {
    const errorOutput = expect.stringContaining("it is not UTF-8 text but UTF-16; save it as UTF-8");
    expect(await inShell(`${line} 2>&3`)).toMatchObject({ code: Number(code), errorOutput });
    expect(await home.succeed(["get", "svc.domain"], { folder })).toBe("\n");
  });
});

describe("what the system refuses is told in one line with its code and what to do", () => {
  test.each(
    rows(String.raw`
      a full disk behind the output | 1 | rc list >/dev/full 2>&3 | output cannot be written: the disk is full \(ENOSPC\)
      a full disk behind the errors | 3 | rc get no.field 2>/dev/full | ^$
      a folder in place of a file of the home | 4 | mkdir -p four/daemon.json; REPOCONF_HOME=$PWD/four rc list 2>&3 | ^repoconf: Could not start a daemon for \S+: \S+/four/daemon.json is a folder, .* Move it away, and start the daemon again\.\n$
      a folder in place of the endpoint, to doctor | 1 | mkdir -m 700 five; mkdir five/daemon.json; REPOCONF_HOME=$PWD/five rc doctor > >(grep "json: not" >&3); code=$?; wait; exit $code | problem\tdaemon\t\S+/daemon.json: not running; something that is no file .*\tMove it away
      a folder in place of the owner's key | 4 | mkdir -m 700 six; mkdir six/owner.key; REPOCONF_HOME=$PWD/six rc list 2>&3 | owner.key is invalid: it is a folder.* move it away: the next start creates a new key
      a pipe in place of the owner's key | 4 | mkdir -m 700 seven; mkfifo seven/owner.key; REPOCONF_HOME=$PWD/seven rc list 2>&3 | owner.key is invalid: it is not a regular file.* move it away
      a current folder that was deleted | 1 | mkdir gone; cd gone; rmdir ../gone; rc list 2>&3 | no longer exists.*cd ~
      a deep value from a file | 2 | rc set svc.services=@deep.json 2>&3 | nested more than 32 levels deep
      a deep item from standard input | 2 | rc set svc.proxy_aliases+:=- <deep.json 2>&3 | nested more than 32 levels deep
      a deep value from an editor | 3 | EDITOR='cp deep.json' rc edit svc.services 2>&3 | nested more than 32 levels deep
      endless input | 2 | rc set svc.domain=- </dev/zero 2>&3 | more than 4194304 bytes
      a folder as input | 2 | rc set svc.domain=- <. 2>&3 | it is a folder, not a file
      a pipe as a key | 5 | rc get --key-file pipe svc.timeout 2>&3 | not a regular file.*Give a key
      a folder as a key | 5 | rc get --key-file . svc.timeout 2>&3 | it is a folder, not a file.*Give a key
      a pipe as a backup | 1 | rc backup --restore pipe 2>&3 | pipe cannot be read as a backup: it is not a regular file
      a damaged backup | 1 | gzip <deep.json >r.gz; rc backup --restore r.gz --yes 2>&3 | or it is damaged at its beginning. Use another
      a truncated backup | 1 | rc backup b.tgz >/dev/null; head -c 900 b.tgz >t.tgz; rc backup --restore t.tgz --yes 2>&3 | damaged in or after "
      a backup into a missing folder | 1 | rc backup no/x.tgz 2>&3 | no/x.tgz cannot be written: .*\(ENOENT\). Name another file
      a backup into a deleted folder | 1 | mkdir away; cd away; rmdir ../away; rc backup x.tgz 2>&3 | no longer exists.*cd ~
      a key that the system does not read | 5 | rc get --key-file /proc/self/mem svc.timeout 2>&3 | cannot read or write it \(EIO\)
      a folder as the values of a clone | 1 | mkdir -p e/.repoconf.json; cd e; rc schema --write 2>&3 | /.repoconf.json: it is a folder
      large values of a clone | 1 | mkdir f; cd f; truncate -s 5M .repoconf.json; rc schema --write 2>&3 | at most 4194304 are read
      an argument in Latin-1 | 2 | rc set svc.domain=$'\xe9' 2>&3 | is not UTF-8
      a folder in Latin-1 to add | 1 | cd ..; mkdir -p $'caf\xe9'/below; cd $'caf\xe9'; rc repo add . 2>&3 | The folder \S+ cannot be used: its name, .*not UTF-8.*rename
      a current folder in Latin-1 to add | 1 | cd ..; mkdir -p $'caf\xe9'/below; cd $'caf\xe9'; rc repo add 2>&3 | The folder \S+ cannot be used: its name, .*not UTF-8.*rename
      a current folder in Latin-1 | 1 | cd ..; mkdir -p $'caf\xe9'/below; cd $'caf\xe9'/below; rc get svc.timeout 2>&3 | /below: its name, or that of a folder above it, is not UTF-8.*rename
      more than a message can have | 3 | head -c 1500000 <(yes $'\x01') >x; rc set svc.domain=@x 2>&3 | Too many bytes in a message: 6\d+, and
      half of a character to print | 1 | rc set 'svc.domain:="\ud800"' >/dev/null; rc get svc.domain 2>&3 | svc.domain contains half of a character
      half of a character in a variable | 3 | rc set 'svc.envvars:=[{"name":"A","value":"\udc00"}]' >/dev/null; rc run true 2>&3 | The variable A of svc.envvars contains half of a character.*Set it again
      a home that cannot be made | 1 | rc list --home /proc/x 2>&3 | /proc/x cannot be created \(ENOENT\)
      a pipe as the progress | 4 | mkdir -p g/tmp g/format; mkfifo g/tmp/start-progress.json; REPOCONF_HOME=$PWD/g; rc list 2>&3 | format is not
      too few open files | 4 | ulimit -n 24; REPOCONF_HOME=$PWD/a; rc list 2>&3 | too many files open.*ulimit -n.*EMFILE
      a folder as the format | 4 | mkdir -p b/format; REPOCONF_HOME=$PWD/b; rc list 2>&3 | format is not usable: it is a folder
      a file as a folder | 4 | mkdir c; echo 1 >c/format; >c/repos; REPOCONF_HOME=$PWD/c; rc list 2>&3 | repos is not a folder
      a lock that is none | 4 | mkdir d; echo no >d/lock; REPOCONF_HOME=$PWD/d; rc stop 2>&3 | not a lock file.*Remove it
    `),
  )("%s", async (_title, code, line, told = "") => {
    const { errorOutput, ...finished } = await inShell(line);
    expect(finished).toMatchObject({ code: Number(code), output: "" });
    // An editor's text is also told to be kept.
    expect(errorOutput.trimEnd().split("\n").length).toBeLessThanOrEqual(line.includes("EDITOR") ? 2 : 1);
    expect(errorOutput).toMatch(new RegExp(told));
    expect(errorOutput).not.toMatch(/ at .*:\d+:\d+|node:|Maximum call stack/);
  });
});
