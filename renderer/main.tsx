import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { keepFocus } from "./keep-focus.ts";
import { NoSession } from "./no-session.tsx";
import { hasCode, openSession } from "./session.ts";
import { connect } from "./state/connection.ts";
import { tellPresence } from "./state/presence.ts";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/fields.css";
import "./styles/views.css";

const element = document.getElementById("root");
if (element === null) throw new Error("the page has no root");
const root = createRoot(element);
keepFocus(element);
tellPresence();
await open();
// A new link in a tab that is open: what is edited there stays.
window.addEventListener("hashchange", () => {
  if (hasCode()) void open();
});

async function open(): Promise<void> {
  const locate = await openSession();
  if (locate === undefined) return root.render(<NoSession />);
  void connect(locate);
  root.render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
