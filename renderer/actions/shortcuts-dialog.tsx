import { Modal } from "../dialogs/modal.tsx";
import { actions, ownKeys } from "./actions.ts";
import { shownKeys } from "./keys.ts";

/** All keyboard shortcuts, by purpose. */
export function ShortcutsDialog({ onClose }: { onClose(): void }) {
  const groups = Array.from(
    Map.groupBy(
      actions.filter(({ keys }) => keys !== undefined),
      ({ group }) => group,
    ),
    ([group, members]) => ({
      group,
      lines: members.map(({ keys = [], title }) => ({ keys: keys.map(shownKeys), title })),
    }),
  );
  const own = { group: "Trees, lists and dialogs", lines: ownKeys.map(({ keys, title }) => ({ keys: [keys], title })) };
  return (
    <Modal title="Keys" onClose={onClose}>
      <div className="shortcuts">
        {[...groups, own].map(({ group, lines }) => (
          <section key={group} aria-label={group}>
            <h3>{group}</h3>
            <dl>
              {lines.map(({ keys, title }) => (
                <div key={title}>
                  <dt>{title}</dt>
                  <dd>
                    {keys.map(one => (
                      <kbd key={one}>{one}</kbd>
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p className="dialog-tools">
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </p>
    </Modal>
  );
}
