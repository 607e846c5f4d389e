import { type FormEvent, useState } from "react";
import type { FoundWorkTree } from "../../shared/protocol.ts";
import { Failure } from "../fields/problems.tsx";
import { Button } from "../parts/button.tsx";
import { Choose } from "../parts/choose.tsx";
import { shell } from "../shell.ts";
import { daemon } from "../state/connection.ts";
import { select } from "../state/navigation.ts";
import { messageOf, notify } from "../state/notices.ts";
import { FolderInput, folderAt } from "./folder-input.tsx";
import { Modal } from "./modal.tsx";

/** Where a repository's values are kept, in words and for the daemon, which checks the folder if nothing is said. */
const places = {
  found: { text: "In .repoconf.json if the folder has one, else in the home (the default)", choice: {} },
  tree: { text: "In .repoconf.json in the folder, to be committed with the code", choice: { inTree: true } },
  home: { text: "In the home, even if the folder has a .repoconf.json", choice: { inTree: false } },
} as const;
const placeNames = ["found", "tree", "home"] as const satisfies readonly (keyof typeof places)[];

/** Adds repositories: one by its folder, or several found by a scan of a folder. */
export function AddRepository({ onClose }: { onClose(): void }) {
  const [folder, setFolder] = useState("");
  const [name, setName] = useState("");
  const [place, setPlace] = useState<keyof typeof places>("found");
  const [found, setFound] = useState<readonly FoundWorkTree[]>();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState<"Adding…" | "Scanning…" | "Choosing…">();
  /** The repository that has this folder already. */
  const [known, setKnown] = useState<string>();
  const lastPart = lastOf(folder.trim());
  // The scan's results belong to the previous folder.
  const applyFolder = (next: string) => {
    setFolder(next);
    setFound(undefined);
    setProblem(undefined);
  };
  const attempt = async (doing: typeof busy, work: () => Promise<void>) => {
    if (busy !== undefined) return;
    setBusy(doing);
    setProblem(undefined);
    await work().catch(error => setProblem(messageOf(error)));
    setBusy(undefined);
  };
  const add = (event: FormEvent) => {
    event.preventDefault();
    void attempt("Adding…", async () => {
      const path = await folderAt(folder);
      const entry = await daemon().run("repo/add", {
        name: name.trim() || lastOf(path),
        ...(path !== "" && { path }),
        ...places[place].choice,
      });
      select({ repo: entry.id });
      onClose();
    });
  };
  const chooseFolder = () =>
    attempt("Choosing…", async () => {
      const chosenFolder = await shell?.chooseFolder();
      if (chosenFolder !== undefined) applyFolder(chosenFolder);
    });
  const scan = () =>
    attempt("Scanning…", async () => {
      const trees = await daemon().run("repo/scan", { path: await folderAt(folder) });
      setFound(trees);
      setChosen(new Set(trees.filter(({ repo }) => repo === undefined).map(({ path }) => path)));
    });
  const addFound = () =>
    attempt("Adding…", async () => {
      for (const tree of found ?? [])
        if (chosen.has(tree.path))
          await daemon().run("repo/add", { name: tree.name, path: tree.path, ...places[place].choice });
      notify("done", chosen.size === 1 ? "1 repository added." : `${chosen.size} repositories added.`);
      onClose();
    });
  return (
    <Modal title="Add a repository" onClose={onClose}>
      <form className="review" onSubmit={add}>
        <FolderInput
          folder={folder}
          hint="its path on this machine; to find several repositories, scan the folder above them"
          onFolder={applyFolder}
          onLook={look => setKnown(look?.repo)}
        />
        <label className="labelled">
          Name <span className="hint">{lastPart === "" ? "how Repoconf shows it" : `left empty: ${lastPart}`}</span>
          <input className="input" spellCheck={false} value={name} onChange={event => setName(event.target.value)} />
        </label>
        <Choose
          label="Values"
          shown="above"
          hint="where they are kept"
          options={placeNames.map(id => ({ id, text: places[id].text }))}
          chosen={place}
          onChoose={id => setPlace(placeNames.find(one => one === id) ?? "found")}
        />
        {found !== undefined && (
          <fieldset className="found">
            <legend>{found.length === 0 ? "No repositories found there." : `${found.length} found`}</legend>
            {found.map(({ path, repo }) => (
              <label className="check" key={path}>
                <input
                  type="checkbox"
                  disabled={repo !== undefined}
                  checked={repo !== undefined || chosen.has(path)}
                  onChange={() =>
                    setChosen(before => {
                      const next = new Set(before);
                      if (!next.delete(path)) next.add(path);
                      return next;
                    })
                  }
                />
                <code>{path}</code>
                {repo !== undefined && <span className="hint">already added</span>}
              </label>
            ))}
          </fieldset>
        )}
        <Failure text={problem} />
        <p className="dialog-tools">
          <button type="button" className="button button-quiet" onClick={onClose}>
            Cancel
          </button>
          {shell !== undefined && (
            <button type="button" className="button" onClick={() => void chooseFolder()}>
              Choose a folder…
            </button>
          )}
          <Button
            className="button"
            unavailable={busy !== undefined || folder.trim() === ""}
            pending={busy === "Scanning…" && busy}
            onClick={() => void scan()}
          >
            Scan this folder
          </Button>
          {found !== undefined && found.length > 0 ? (
            <Button
              className="button button-main"
              unavailable={busy !== undefined || chosen.size === 0}
              pending={busy === "Adding…" && busy}
              onClick={() => void addFound()}
            >
              Add {chosen.size} of them
            </Button>
          ) : known !== undefined ? (
            <button
              type="button"
              className="button button-main"
              onClick={() => {
                select({ repo: known });
                onClose();
              }}
            >
              Open it
            </button>
          ) : (
            <Button
              type="submit"
              className="button button-main"
              unavailable={busy !== undefined || (name.trim() === "" && lastPart === "")}
              pending={busy === "Adding…" && busy}
            >
              Add
            </Button>
          )}
        </p>
      </form>
    </Modal>
  );
}

/** The name of the folder at the end of a path. */
function lastOf(path: string): string {
  return (
    path
      .replace(/[/\\]+$/, "")
      .split(/[/\\]/)
      .at(-1) ?? ""
  );
}
