import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { RepoconfError } from "../../shared/errors.ts";
import { type Grants, type KeyRight, keyRights, type Right } from "../../shared/grants.ts";
import type { OperationResults } from "../../shared/protocol.ts";
import { Failure } from "../fields/problems.tsx";
import { Button } from "../parts/button.tsx";
import { Choose } from "../parts/choose.tsx";
import { daemon } from "../state/connection.ts";
import { go } from "../state/navigation.ts";
import { messageOf } from "../state/notices.ts";
import { useScreen } from "../state/store.ts";
import { FieldBoxes } from "./field-boxes.tsx";
import { patternsIn, problemOfPatterns } from "./field-patterns.ts";
import { describeRight } from "./grant-words.ts";
import { KeyPreview } from "./key-preview.tsx";
import { MadeKey } from "./made-key.tsx";
import { type ChosenRepositories, RepositoryBoxes } from "./repository-boxes.tsx";

const dayTime = 24 * 60 * 60_000;
/** The lifetimes of a key to choose from, by their days. */
const lifetimes = [
  { id: "", text: "Never (the default)" },
  ...[1, 7, 30, 90, 365].map(days => ({
    id: String(days),
    text: days === 1 ? "In a day" : days === 365 ? "In a year" : `In ${days} days`,
  })),
];

/** The problem of each part of the form; `whole`: a problem of no single part. */
type Problems = { readonly [Part in "name" | "repositories" | "grants" | "expires" | "whole"]?: string };

/** A form for a new key beside a preview of what it would see; then the key, shown once. */
export function NewKeyPage() {
  const [made, setMade] = useState<OperationResults["key/create"]>();
  return made === undefined ? <NewKeyForm onMade={setMade} /> : <MadeKey made={made} />;
}

function NewKeyForm({ onMade }: { onMade(made: OperationResults["key/create"]): void }) {
  const repositories = useScreen(state => state.repositories) ?? [];
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<ChosenRepositories>(new Set());
  const [fields, setFields] = useState("");
  const [right, setRight] = useState<Right>("read");
  const [rights, setRights] = useState<readonly KeyRight[]>([]);
  const [lifetime, setLifetime] = useState("");
  /** How often creating it failed. */
  const [failures, setFailures] = useState(0);
  const [refusal, setRefusal] = useState<Problems>({});
  const [busy, setBusy] = useState(false);
  const nameInput = useRef<HTMLInputElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const nameProblemId = useId();
  useEffect(() => nameInput.current?.focus(), []);
  useEffect(() => {
    if (failures > 0) focusProblem(form.current);
  }, [failures]);
  const covered = chosen === "*" ? repositories : repositories.filter(({ id }) => chosen.has(id));
  const patterns = patternsIn(fields);
  const typed = problemOfPatterns(patterns);
  const grants: Grants = [{ repos: chosen === "*" ? "*" : covered.map(({ id }) => id), fields: patterns, right }];
  const missing: Problems = {
    ...(name.trim() === "" && { name: "Enter a name: the history shows it with each change." }),
    ...(chosen !== "*" && covered.length === 0 && { repositories: "Choose a repository, or all of them." }),
    ...(patterns.length === 0 && { grants: "Choose a field, or all of them." }),
  };
  const problems: Problems = {
    ...(failures > 0 && missing),
    ...(typed !== undefined && { grants: typed }),
    ...refusal,
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setRefusal({});
    if (Object.keys(missing).length > 0 || typed !== undefined) return setFailures(failures + 1);
    setBusy(true);
    try {
      const end = () => new Date(Date.now() + Number(lifetime) * dayTime).toISOString();
      const expires = lifetime === "" ? {} : { expires: end() };
      onMade(await daemon().run("key/create", { name: name.trim(), grants, rights, ...expires }));
    } catch (error) {
      setRefusal({ [partOf(error)]: messageOf(error) });
      setFailures(failures + 1);
      setBusy(false);
    }
  };
  return (
    <article className="page key-page" aria-labelledby="page-title">
      <h1 id="page-title">Create a key</h1>
      <div className="key-frame">
        <div className="key-columns">
          <form className="key-form" ref={form} noValidate onSubmit={event => void submit(event)}>
            <div>
              <label className="labelled">
                Name <span className="hint">what the key is for, such as nightly build</span>
                <input
                  ref={nameInput}
                  className="input"
                  maxLength={100}
                  spellCheck={false}
                  autoComplete="off"
                  aria-invalid={problems.name !== undefined}
                  aria-describedby={problems.name === undefined ? undefined : nameProblemId}
                  value={name}
                  onChange={event => {
                    setName(event.target.value);
                    setRefusal({});
                  }}
                />
              </label>
              <Failure id={nameProblemId} text={problems.name} />
            </div>
            <RepositoryBoxes chosen={chosen} problem={problems.repositories} onChange={setChosen} />
            <FieldBoxes
              text={fields}
              problem={problems.grants}
              onChange={text => {
                setFields(text);
                setRefusal({});
              }}
            />
            <fieldset className="boxes">
              <legend>Access</legend>
              {(["read", "write"] as const).map(one => (
                <label className="check" key={one}>
                  <input type="radio" name="right" checked={right === one} onChange={() => setRight(one)} />
                  {one === "read" ? "Read" : "Read and write"}
                </label>
              ))}
            </fieldset>
            <fieldset className="boxes">
              <legend>And also</legend>
              {keyRights.map(one => (
                <label className="check" key={one}>
                  <input
                    type="checkbox"
                    checked={rights.includes(one)}
                    onChange={({ target: { checked } }) =>
                      setRights(keyRights.filter(other => (other === one ? checked : rights.includes(other))))
                    }
                  />
                  {describeRight(one)}
                </label>
              ))}
            </fieldset>
            <Choose
              label="Expires"
              shown="above"
              hint="it works until then, or until you revoke it"
              options={lifetimes}
              chosen={lifetime}
              onChoose={setLifetime}
            />
            <Failure text={problems.expires ?? problems.whole} />
            <p className="key-form-tools">
              <Button type="submit" className="button button-main" pending={busy && "Creating…"}>
                Create key
              </Button>
              <button type="button" className="button button-quiet" onClick={() => go({ page: "keys" })}>
                Cancel
              </button>
            </p>
          </form>
          <KeyPreview grants={grants} rights={rights} covered={covered} />
        </div>
      </div>
    </article>
  );
}

/** The part of the form that the daemon rejects. */
function partOf(error: unknown): keyof Problems {
  const argument = error instanceof RepoconfError ? error.details?.["argument"] : undefined;
  return argument === "name" || argument === "grants" || argument === "expires" ? argument : "whole";
}

/** Focuses the first part that has a problem. */
function focusProblem(form: HTMLFormElement | null): void {
  const part = form?.querySelector("[aria-invalid='true'], fieldset:has(.problem) input[tabindex='0']");
  if (part instanceof HTMLElement) part.focus();
}
