import type { FromSchema } from "json-schema-to-ts";
import { limits } from "../../shared/limits.ts";
import { compileSchema } from "../../shared/schema/compile-schema.ts";
import { describeSchemaProblem } from "../../shared/schema/describe-problem.ts";
import { SpareSteps } from "../../shared/schema/step-budget.ts";
import { joinPointer, valueAt } from "../../shared/value-edit.ts";
import { UnreadableFileError } from "../files/durable-text-file.ts";
import { JsonTextError, parseJsonText, rewriteJsonText } from "../files/json-text.ts";
import { readUntil } from "../files/read-until.ts";
import type { Clock } from "../time/clock.ts";
import type { Home } from "./home.ts";
import { privateFile } from "./prepare-home.ts";

/** The port of the daemon unless settings or arguments name another one. */
export const preferredPort = 7420;

export const settingsSchema = {
  type: "object",
  properties: {
    $schema: { type: "string" },
    port: {
      type: "integer",
      minimum: 1,
      maximum: 65_535,
      description: "The preferred port instead of 7420; used from the next start.",
    },
    origins: {
      type: "array",
      uniqueItems: true,
      items: { type: "string", pattern: "^https?://[^/\\s]+$" },
      description: "Origins of web pages that may connect, such as http://localhost:5173. They still need a key.",
    },
    history: {
      type: "object",
      properties: {
        revisions: { type: "integer", minimum: 1, maximum: 1_000_000 },
        bytes: { type: "integer", minimum: 65_536, maximum: 1_073_741_824 },
      },
      additionalProperties: false,
      description:
        "How much history to keep for each repository, whichever limit is reached first: revisions (10000) or bytes (67108864, 64 MiB).",
    },
    log: {
      type: "object",
      properties: {
        address: { type: "string", pattern: "^(nats|tls)://" },
        machine: { type: "string", minLength: 1, maxLength: 64, pattern: "^[^\\u0000-\\u001f]*$" },
        replicas: { type: "integer", minimum: 1, maximum: 5 },
        bytes: { type: "integer", minimum: 65_536 },
        credentials: { type: "string", minLength: 1 },
        ca: { type: "string", minLength: 1 },
        certificate: { type: "string", minLength: 1 },
        key: { type: "string", minLength: 1 },
      },
      required: ["address"],
      additionalProperties: false,
      description:
        "A log shared by several machines: its address (nats://HOST:PORT/NAME), the name of this machine in it (the host name), the number of servers that keep each message (3 in a cluster, else 1), the number of bytes from which on it is shortened to what the histories keep (67108864, 64 MiB), and the paths of a credentials file and of files for TLS (ca, certificate, key). Used from the next start.",
    },
    secrets: {
      type: "object",
      propertyNames: { pattern: "^[A-Za-z0-9][A-Za-z0-9_-]*$" },
      additionalProperties: {
        type: "object",
        properties: {
          command: { type: "array", minItems: 1, items: { type: "string", minLength: 1 } },
          input: { type: "string", pattern: "^[^\\r\\n]*\\{\\}[^\\r\\n]*$" },
          framed: { type: "boolean" },
          timeout: { type: "integer", minimum: 1, maximum: 300 },
        },
        required: ["command"],
        additionalProperties: false,
      },
      description:
        "The commands that repoconf run and env start for values cmd://NAME and cmd://NAME/ARGUMENT, by NAME.",
    },
  },
  additionalProperties: false,
} as const;

/** How much history is kept unless the settings say otherwise. */
export const defaultRetention = { revisions: 10_000, bytes: 64 * 1024 * 1024 };

export type SettingsValues = FromSchema<typeof settingsSchema>;

/** `settings.json`: read at the start and whenever it changes. While it is invalid, the last valid settings stay active. */
export class Settings {
  readonly #home: Home;
  readonly #clock: Pick<Clock, "delay">;
  readonly #onProblem: (message: string) => void;
  #values: SettingsValues = {};
  #problem: string | undefined;
  /** The text of `#values`; null if there was no file. */
  #text: string | null = null;

  private constructor(home: Home, clock: Pick<Clock, "delay">, onProblem: (message: string) => void) {
    this.#home = home;
    this.#clock = clock;
    this.#onProblem = onProblem;
  }

  /** `onProblem` is called with a sentence each time the file is found to be invalid. */
  static async open(home: Home, clock: Pick<Clock, "delay">, onProblem: (message: string) => void): Promise<Settings> {
    const settings = new Settings(home, clock, onProblem);
    await settings.reload();
    return settings;
  }

  get values(): SettingsValues {
    return this.#values;
  }

  /** The current problem with the file; undefined if there is none. */
  get problem(): string | undefined {
    return this.#problem;
  }

  async reload(): Promise<void> {
    const { settingsFile } = this.#home;
    try {
      const { text, values } = await readUntil(
        this.#clock,
        () => this.#read(),
        // Most homes have no such file, and a start must not wait for it.
        found => found.text !== null || this.#text === null,
      );
      this.#values = values;
      this.#text = text;
      this.#problem = undefined;
    } catch (error) {
      const place = error instanceof JsonTextError ? `, line ${error.line}, column ${error.column}` : "";
      const known =
        error instanceof JsonTextError || error instanceof UnreadableFileError || error instanceof SettingsError;
      if (!known) throw error;
      const problem = `${settingsFile}${place}: ${error.message}; the last valid settings stay active`;
      if (problem !== this.#problem) this.#onProblem(problem);
      this.#problem = problem;
    }
  }

  async #read(): Promise<{ readonly text: string | null; readonly values: SettingsValues }> {
    const text = await privateFile(this.#home, this.#home.settingsFile).read();
    if (text === this.#text) return { text, values: this.#values };
    return { text, values: text === null ? {} : parseSettings(text) };
  }
}

/** Changes one setting in the file, durably, beside its comments; undefined removes it. Throws JsonTextError or the system's error. */
export async function writeSetting<Name extends keyof SettingsValues>(
  home: Home,
  name: Name,
  value: SettingsValues[Name] | undefined,
): Promise<void> {
  const file = privateFile(home, home.settingsFile);
  const text = await file.read();
  if (text === null && value === undefined) return;
  const current = parseJsonText(text ?? "{}\n");
  const { [name]: _, ...others } = current.value;
  await file.write(rewriteJsonText(current, value === undefined ? others : { ...current.value, [name]: value }));
}

class SettingsError extends Error {}

/** The settings without a daemon; undefined if there is no file. Throws UnreadableFileError, JsonTextError or an Error that says what is wrong. */
export async function readSettings(home: Home): Promise<SettingsValues | undefined> {
  const text = await privateFile(home, home.settingsFile).read();
  return text === null ? undefined : parseSettings(text);
}

/** Throws JsonTextError, or an Error that says what is wrong. */
export function parseSettings(text: string): SettingsValues {
  const { value } = parseJsonText(text);
  const { problems } = compileSchema(settingsSchema).check(value, new SpareSteps(), limits.problemsOfFile);
  if (problems.length === 0) return value as SettingsValues;
  const described = problems.map(problem => {
    const member = problem.params["additionalProperty"];
    if (member !== undefined) return `there is no setting "${member}"`;
    const pointer = joinPointer(problem.path.map(String));
    return `${pointer.slice(1)} ${describeSchemaProblem(problem, valueAt(value, pointer))}`;
  });
  throw new SettingsError(described.join("; "));
}
