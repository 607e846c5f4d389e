import type { StoreContext } from "./context.ts";
import type { StoreEvent } from "./types.ts";

/** The changes of a store, once they are durable and visible, in the order of the log. */
export class StoreEvents {
  readonly #context: Pick<StoreContext, "onProblem">;
  readonly #listeners: ((event: StoreEvent) => void)[] = [];

  constructor(context: Pick<StoreContext, "onProblem">) {
    this.#context = context;
  }

  subscribe(listener: (event: StoreEvent) => void): void {
    this.#listeners.push(listener);
  }

  publish(event: StoreEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        // The change is durable, so its caller gets a success even if other watchers cannot be informed.
        this.#context.onProblem("a change could not be published to all watchers", { error: String(error) });
      }
    }
  }
}
