import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { applyConfigEdits, type Config } from "../../../shared/config.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import { exactText, type JsonValue, sameJson } from "../../../shared/json.ts";
import { describeEffect } from "../../../shared/scopes/describe-effect.ts";
import { effectOf, type ValueSchema } from "../../../shared/scopes/scope-schema.ts";
import { parseJsonText } from "../../files/json-text.ts";
import type { Home } from "../../home/home.ts";
import { privateFile } from "../../home/prepare-home.ts";
import { parseSettings, type SettingsValues } from "../../home/settings.ts";
import { ScopeFiles } from "../../scopes/scope-files.ts";
import { compileScope, Scopes } from "../../scopes/scopes.ts";
import { parseFrame } from "../../store/log/frame.ts";
import { isConfig } from "../../store/mirror/repository-files.ts";
import { sameEffect } from "../../store/repository/scope-preview.ts";
import { valueByAnyName } from "../../store/values/renamed-fields.ts";
import { systemClock } from "../../time/clock.ts";
import { isTerminal, print, style } from "../output/terminal.ts";
import { readEntries } from "./read-archive.ts";

/** What a backup brings that runs programs or leads out of the home. */
interface Brought {
  /** The end of the sentence that begins with `where`. */
  readonly what: string;
  readonly where: string;
  /** Shown only on a terminal that is asked: it may be a secret. */
  readonly value?: JsonValue;
  /** The repositories that have the value, as people know them. */
  readonly repos: string[];
}

/** More are counted. */
const maxShown = 40;

/**
 * Shows what a backup brings that runs programs, or that leads out of the home, except for what the home has already: the archive may be
 * somebody else's, and values in a home are trusted. With their values only on a terminal where a person is asked.
 */
export async function showBrought(home: Home, file: string, isAsked: boolean): Promise<void> {
  const found = await findBrought(home, file);
  if (found.length === 0) return;
  print(
    style("bold", "This backup brings what runs programs or leads out of this home, and what the home does not have:"),
  );
  for (const { where, what, value, repos } of found.slice(0, maxShown)) {
    const named = repos.length > 10 ? [...repos.slice(0, 10), `${repos.length - 10} more`] : repos;
    print(`  ${where} ${what}${named.length === 0 ? "" : `, in ${named.join(", ")}`}`);
    if (value === undefined || !isAsked || !isTerminal()) continue;
    for (const line of exactText(value).split("\n")) print(style("green", `    + ${line}`));
  }
  if (found.length > maxShown)
    print(`  and ${found.length - maxShown} more. The files are in the archive: tar tzf FILE`);
}

async function findBrought(home: Home, file: string): Promise<readonly Brought[]> {
  const scopes = new Scopes();
  const present = new Scopes();
  // A new home has no such folder.
  await valid(() => new ScopeFiles(home, present, () => {}, systemClock).reload());
  const brought: Brought[] = [];
  const own = await settingsIn(() => privateFile(home, home.settingsFile).read());
  await readTexts(file, /^(settings\.json$|scopes\/)/, async (path, text) => {
    if (path === "settings.json") brought.push(...settingsBrought(await settingsIn(async () => text), own));
    const name = /^scopes\/(.+)\.schema\.json$/.exec(path)?.[1];
    // The daemon does not use an invalid one.
    if (name !== undefined) await valid(() => scopes.set(compileScope(name, parseJsonText(text).value)));
  });
  for (const { scope, field } of scopes.commands) {
    const [schema, before] = [scopes, present].map(one => one.field(scope, field)?.schema);
    if (schema === undefined || (sameEffect(before, schema) && sameJson(before?.default, schema.default))) continue;
    if (hasNoEffect(schema, schema.default)) continue;
    const where = joinConfigPath(scope, field);
    const what = `${describeEffect(effectOf(schema), where)}, with this default in every repository`;
    brought.push({ where, what, value: schema.default, repos: [] });
  }
  const groups = new Map<string, Brought>();
  const add = (repo: string, one: Omit<Brought, "repos">) => {
    const key = JSON.stringify(one);
    const group = groups.get(key) ?? { ...one, repos: [] };
    if (!group.repos.includes(repo)) group.repos.push(repo);
    groups.set(key, group);
  };
  const addValues = (repo: string, config: Config, ownConfig: Config) => {
    for (const path of scopes.commands) {
      const value = valueByAnyName(config, path, scopes);
      const [schema, before] = [scopes, present].map(one => one.field(path.scope, path.field)?.schema);
      if (value === undefined || schema === undefined || sameJson(value, schema.default)) continue;
      if (hasNoEffect(schema, value)) continue;
      if (sameEffect(before, schema) && sameJson(value, valueByAnyName(ownConfig, path, present))) continue;
      const where = joinConfigPath(path.scope, path.field);
      add(repo, { where, what: describeEffect(effectOf(schema), where), value });
    }
  };
  const ownRepositories = new Map<string, Promise<Repository>>();
  const ownFiles = new Set(await readdir(home.repositories).catch(() => []));
  const ownRepository = (id: string) => {
    if (!ownFiles.has(`${id}.json`)) return noRepository;
    const found =
      ownRepositories.get(id) ?? repositoryIn(() => privateFile(home, join(home.repositories, `${id}.json`)).read());
    ownRepositories.set(id, found);
    return found;
  };
  const names = new Map<string, string>();
  await readTexts(file, /^(repos|log)\//, async (path, text) => {
    const id = /^repos\/(.+)\.json$/.exec(path)?.[1];
    if (id !== undefined) {
      const [{ name = id, config, folder }, ours] = [await repositoryIn(async () => text), await ownRepository(id)];
      if (name !== id) names.set(id, `${name} (${id})`);
      addValues(id, config, ours.config);
      if (folder !== undefined && folder !== ours.folder) add(id, { where: folder, what: "belongs to a repository" });
      return;
    }
    // Changes that no file has yet.
    for (const line of text.split("\n")) {
      const frame = await valid(() => parseFrame(Buffer.from(line)));
      if (frame?.content.kind !== "commit") continue;
      for (const { repo, edits } of frame.content.documents)
        addValues(repo, applyConfigEdits({}, edits), (await ownRepository(repo)).config);
    }
  });
  // What was removed has only an id.
  const named = [...groups.values()].map(one => ({ ...one, repos: one.repos.map(id => names.get(id) ?? id) }));
  return [...brought, ...named];
}

/** Null means that a variable is not set. */
function hasNoEffect(schema: ValueSchema, value: JsonValue): boolean {
  return value === null && !effectOf(schema).command;
}

/** Reads the files of a checked archive whose names match. */
function readTexts(file: string, names: RegExp, use: (path: string, text: string) => Promise<void>): Promise<void> {
  return readEntries(file, async entry => {
    if (names.test(entry.path)) await use(entry.path, (await entry.concat()).toString());
  });
}

function settingsBrought({ secrets = {}, log, origins = [] }: SettingsValues, own: SettingsValues): Brought[] {
  const where = "settings.json";
  const changed = Object.entries(secrets).filter(([name, secret]) => !sameJson(secret, own.secrets?.[name]));
  const commands = changed.map(([name, secret]) => ({
    where,
    what: `starts a program for secrets cmd://${name}`,
    value: secret,
  }));
  const pages = origins.filter(origin => !own.origins?.includes(origin));
  return [
    ...commands,
    ...(log !== undefined && !sameJson(log, own.log)
      ? [{ where, what: "keeps all values on another server", value: log }]
      : []),
    ...pages.map(origin => ({ where, what: "lets pages of this address connect", value: origin })),
  ].map(one => ({ ...one, repos: [] }));
}

/** Empty if they are invalid: the daemon does not use them either. */
async function settingsIn(read: () => Promise<string | null>): Promise<SettingsValues> {
  return (await valid(async () => parseSettings((await read()) ?? "{}"))) ?? {};
}

interface Repository {
  readonly name?: string;
  readonly config: Config;
  readonly folder?: string;
}

const noRepository: Repository = { config: {} };

async function repositoryIn(read: () => Promise<string | null>): Promise<Repository> {
  const { name, config, path } = (await valid(async () => parseJsonText((await read()) ?? "{}").value)) ?? {};
  return {
    ...(typeof name === "string" && { name }),
    ...{ config: isConfig(config) ? config : {}, ...(typeof path === "string" && { folder: path }) },
  };
}

async function valid<Result>(make: () => Result | Promise<Result>): Promise<Result | undefined> {
  try {
    return await make();
  } catch {
    return undefined;
  }
}
