/**
 * What a daemon has acquired, to be released in reverse order. Like AsyncDisposableStack, which Node 22 does not have; an error does not
 * keep the others from being released.
 */
export class Resources implements AsyncDisposable {
  #releases: (() => unknown)[] = [];

  defer(release: () => unknown): void {
    this.#releases.push(release);
  }

  /** The same resources in a new object; this one releases nothing any more. */
  move(): Resources {
    const moved = new Resources();
    moved.#releases = this.#releases;
    this.#releases = [];
    return moved;
  }

  /** Throws the first error, after everything was tried. */
  async [Symbol.asyncDispose](): Promise<void> {
    const errors: unknown[] = [];
    for (const release of this.#releases.splice(0).reverse()) {
      try {
        await release();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
