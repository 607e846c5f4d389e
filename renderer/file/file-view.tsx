import { useCallback, useEffect, useState } from "react";
import type { FileText, HealthProblem } from "../../shared/protocol.ts";
import { Button } from "../parts/button.tsx";
import { daemon } from "../state/connection.ts";
import { messageOf, notify } from "../state/notices.ts";
import { type Draft, findRepository, screenStore, useScreen } from "../state/store.ts";
import { rememberFileSave } from "../state/undo.ts";
import { Comparison } from "./comparison.tsx";
import { TextEditor } from "./text-editor.tsx";

/** The repository's file as text; saving it works like an edit by hand. */
export function FileView({ repo }: { readonly repo: string }) {
  const revision = useScreen(state => state.opened.get(repo)?.revision);
  const health = useScreen(state => findRepository(state, repo)?.health);
  const edited = useScreen(state => state.drafts.get(repo));
  /** The file as last read. */
  const [found, setFound] = useState<FileText>();
  const [saving, setSaving] = useState(false);
  const [comparing, setComparing] = useState(false);
  const [revealed, setRevealed] = useState(false);

  const read = useCallback(async () => {
    try {
      setFound(await daemon().run("file/read", { repo }));
    } catch (error) {
      notify("problem", messageOf(error), aboutFile(repo));
    }
  }, [repo]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new revision, or another health, is another text.
  useEffect(() => void read(), [read, revision, health]);

  const known = found ?? edited?.file;
  if (known === undefined) return <p className="waiting">Reading…</p>;
  const { file, text } = edited ?? { file: known, text: known.text ?? "" };
  const changed = edited !== undefined;
  /** The file's new text if it changed while the person was editing. */
  const other = known.text === file.text ? undefined : known;
  const save = async (expected: FileText) => {
    if (saving) return;
    setSaving(true);
    try {
      const before = revision ?? 0;
      await daemon().run("file/write", { repo, text, expected: expected.text });
      const saved = { file: known.file, text };
      setFound(saved);
      // Text typed while saving is a new edit.
      const now = screenStore.getState().drafts.get(repo);
      if (now !== undefined) keepDraft(repo, { file: saved, text: now.text });
      await rememberFileSave(repo, before);
      const [entry] = await daemon().run("repo/list", { repo });
      notifySaved(repo, entry?.health ?? []);
    } catch (error) {
      notify("problem", messageOf(error), aboutFile(repo));
      await read();
    } finally {
      setSaving(false);
    }
  };
  const load = (wanted: FileText) => {
    setFound(wanted);
    keepDraft(repo, { file: wanted, text: wanted.text ?? "" });
  };
  return (
    <section className="file" aria-label="The file as text">
      <p className="file-place">
        <code>{known.file}</code>
      </p>
      {other !== undefined && (
        <div className="conflict" role="alert">
          <p>The file was changed elsewhere while you were editing it.</p>
          <button type="button" className="button" onClick={() => load(other)}>
            Discard my changes
          </button>
          <button type="button" className="button" onClick={() => void save(other)}>
            Overwrite with mine
          </button>
        </div>
      )}
      {comparing ? (
        <Comparison
          left={servedText(repo)}
          leftTitle="The active values"
          right={text}
          rightTitle="The file"
          revealed={revealed}
        />
      ) : (
        <TextEditor
          text={text}
          revealed={revealed}
          onChange={next => keepDraft(repo, { file, text: next })}
          onSave={() => void save(file)}
        />
      )}
      <p className="file-tools">
        <button
          type="button"
          className="button button-quiet"
          aria-pressed={revealed}
          onClick={() => setRevealed(!revealed)}
        >
          {revealed ? "Hide masked values" : "Show masked values"}
        </button>
        <button
          type="button"
          className="button button-quiet"
          aria-pressed={comparing}
          onClick={() => setComparing(!comparing)}
        >
          {comparing ? "Back to the text" : "Compare with the active values"}
        </button>
        <Button className="button button-quiet" unavailable={!changed} onClick={() => load(known)}>
          Discard changes
        </Button>
        <Button
          className="button button-main"
          unavailable={!changed || other !== undefined}
          pending={saving && "Saving…"}
          onClick={() => void save(file)}
        >
          Save file
        </Button>
      </p>
    </section>
  );
}

/** Invalid values are kept in the file but are not active, so they are reported as a problem. */
function notifySaved(repo: string, health: readonly HealthProblem[]): void {
  // An old name (1115) still works, and what was found (1116) is not about this text.
  const [first] = health.filter(({ code }) => code !== 1115 && code !== 1116);
  const where = first?.line === undefined ? "" : `line ${first.line}, column ${first.column}: `;
  if (first === undefined) notify("done", "Saved the file.", aboutFile(repo));
  else notify("problem", `Saved the file, but some values are invalid: ${where}${first.message}`, aboutFile(repo));
}

function aboutFile(repo: string): string {
  return `the file of ${repo}`;
}

function isEdited({ file, text }: Draft): boolean {
  return text !== (file.text ?? "");
}

/** Keeps the draft, so that leaving the page does not lose what was typed. */
function keepDraft(repo: string, draft: Draft): void {
  screenStore.setState(state => {
    const drafts = new Map(state.drafts);
    if (isEdited(draft)) drafts.set(repo, draft);
    else drafts.delete(repo);
    return { drafts };
  });
}

/** The stored and active values, as the text of a file. */
function servedText(repo: string): string {
  const state = screenStore.getState();
  const { name, path, inTree } = findRepository(state, repo) ?? { name: repo, inTree: false };
  const head = inTree ? {} : { name, ...(path !== undefined && { path }) };
  return `${JSON.stringify({ ...head, config: state.opened.get(repo)?.stored ?? {} }, null, 2)}\n`;
}
