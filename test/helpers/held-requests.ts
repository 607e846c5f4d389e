import type { Page, WebSocketRoute } from "playwright-core";
import { until } from "./daemon.ts";

/** Holds the page's requests for these operations from its next connection on, to simulate a daemon as slow as the test needs. */
export async function holdRequests(page: Page, operations: readonly string[]) {
  const asked: string[] = [];
  const held: ((change: (message: string) => string) => void)[] = [];
  const route = (socket: WebSocketRoute) => {
    const server = socket.connectToServer();
    socket.onMessage(message => {
      const [, resource = "", operation = ""] = /^42\d+\["svc","(\w+)","(\w+)"/.exec(String(message)) ?? [];
      const name = `${resource}/${operation}`;
      if (!operations.includes(name)) return server.send(message);
      asked.push(name);
      held.push(change => server.send(change(String(message))));
    });
  };
  if (operations.length > 0) await page.routeWebSocket(/socket\.io/, route);
  return {
    /** How often the page has requested the operation so far. */
    asked: (operation: string) => asked.filter(name => name === operation).length,
    /** Waits until a request is held. */
    untilHeld: () => until(() => held.length > 0, `a request for ${operations.join(" or ")}`),
    /** Releases the held requests, modified by `change`, and holds the following ones. */
    release: (change = (message: string) => message) => {
      for (const send of held.splice(0)) send(change);
    },
  };
}
