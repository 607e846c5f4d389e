import { Notification } from "electron";
import type { RepoconfClient } from "../../shared/client/client.ts";
import { describeProblem } from "../../shared/health.ts";
import type { AppWindow } from "./app-window.ts";

/** Shows one notification each time a repository's file becomes invalid; a click opens the repository. */
export function notifyOfBrokenFiles(client: RepoconfClient, window: AppWindow): void {
  const broken = new Set<string>();
  const watch = async () => {
    for await (const [resource, event, payload] of client.watchEverything()) {
      if (resource !== "repo" || event !== "health") continue;
      const { id, name, health } = payload;
      const problem = health.find(({ code }) => code === 1106);
      if (problem === undefined) broken.delete(id);
      if (problem === undefined || broken.has(id)) continue;
      broken.add(id);
      const notification = new Notification({
        title: `${name}: its file is invalid`,
        body: describeProblem(problem),
      });
      notification.on("click", () => window.show({ repo: id }));
      notification.show();
    }
  };
  // The watch ends with the client; then there is nothing to notify about.
  watch().catch(() => {});
}
