import type { Command } from "commander";
import { addOptions, type RepositoryOptions, type SessionOptions } from "../command-options.ts";
import { type EnvironmentFormat, envRows } from "../options.ts";

export interface EnvOptions extends SessionOptions, RepositoryOptions {
  readonly format: EnvironmentFormat;
  readonly reveal?: boolean;
}

/** `repoconf env`: prints the environment that `run` passes to a command, for shells. */
export function addEnvCommand(program: Command): void {
  addOptions(program.command("env"), envRows)
    .summary("print the environment of a repository, for a shell to read")
    .description(
      'print the environment of a repository, for a shell to read\n\n  eval "$(repoconf env)"                             sh, bash, zsh\n  repoconf env --format fish | source                fish\n  repoconf env --format pwsh | Out-String | Invoke-Expression\n\nThe variables come from svc.envvars and from every field whose schema has x-env. Masked values and secrets are printed in clear text, because programs need them; on a terminal, the command requires --reveal.',
    )
    .action(env);
}

async function env(options: EnvOptions): Promise<void> {
  const { isTerminal, printValue } = await import("../output/terminal.ts");
  const { CommandError, exitCodes } = await import("../output/exit-codes.ts");
  if (isTerminal() && !options.reveal) {
    const message = `This prints masked values and secrets in clear text. To load them into a shell: eval "$(repoconf env)". To print them here: --reveal`;
    throw new CommandError(message, exitCodes.refused);
  }
  const { withSession } = await import("../connect/session.ts");
  const { chooseRepository } = await import("../connect/repositories.ts");
  const { readVariables } = await import("../environment/environment.ts");
  const { resolveVariables } = await import("../environment/secrets.ts");
  const { environmentText } = await import("../environment/formats.ts");
  await withSession(options, async ({ client, home }) => {
    const variables = await readVariables(client, await chooseRepository(client, options.repo));
    const text = environmentText(await resolveVariables(variables, home), options.format);
    if (text !== "") printValue(text);
  });
}
