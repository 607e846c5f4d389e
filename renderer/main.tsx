import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { Notices } from "./frame/notices.tsx";
import { keepFocus } from "./keep-focus.ts";
import { openTabsWithSession } from "./new-tab.ts";
import { NoSession } from "./no-session.tsx";
import { ErrorBoundary, FailedPart } from "./parts/error-boundary.tsx";
import { hasCode, openSession } from "./session.ts";
import { connect } from "./state/connection.ts";
import { keepDrafts } from "./state/drafts.ts";
import { followAddress } from "./state/navigation.ts";
import { endNotices } from "./state/notices.ts";
import { announcePresence } from "./state/presence.ts";
import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/fields.css";
import "./styles/views.css";
import "./styles/forced-colors.css";
import "./styles/diff.css";
import "./styles/compare.css";
import "./styles/keys.css";
import "./styles/palette.css";
import "./styles/matrix.css";
import "./styles/activity.css";

const element = document.getElementById("root");
if (element === null) throw new Error("the page has no root element");
const root = createRoot(element);
keepFocus(element);
announcePresence();
openTabsWithSession();
keepDrafts();
endNotices();
if (!hasCode()) followAddress();
await open();
// A new link in an open tab: unsaved edits and the place are kept.
window.addEventListener("hashchange", () => {
  if (hasCode()) void open();
  else followAddress();
});

async function open(): Promise<void> {
  const locate = await openSession();
  if (locate === undefined) return root.render(<NoSession />);
  void connect(locate);
  root.render(
    <StrictMode>
      <ErrorBoundary
        fallback={(message, again) => (
          <main className="no-session">
            <h1>Repoconf</h1>
            <FailedPart what="The screen" message={message} again={again} />
            <Notices />
          </main>
        )}
      >
        <App />
      </ErrorBoundary>
    </StrictMode>,
  );
}
