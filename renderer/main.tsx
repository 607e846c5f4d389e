import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { keepFocus } from "./keep-focus.ts";
import { NoSession } from "./no-session.tsx";
import { openSession } from "./session.ts";
import { connect } from "./state/connection.ts";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/fields.css";
import "./styles/views.css";

const element = document.getElementById("root");
if (element === null) throw new Error("the page has no root");
const root = createRoot(element);
keepFocus(element);
const session = await openSession();
if (session.kind === "key") {
  void connect(session.key);
  root.render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
} else {
  root.render(<NoSession reason={session.reason} />);
}
