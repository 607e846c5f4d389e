/** What of a group of fields is in the page: nothing but its room, the titles, or also the controls. */
export type Content = "room" | "titles" | "controls";

/** A group of fields in the page. */
interface Group {
  readonly element: HTMLElement;
  /** Its content now. */
  content: Content;
  /** Renders this content. `height`: how high its controls were, in pixels, if they are to go. */
  show(content: Content, height: number | undefined): void;
}

interface WatchedGroup extends Group {
  isNear: boolean;
  /** Whether somebody has used it: what they opened in it has to stay. */
  isUsed: boolean;
}

/** How many groups get their titles in one task. */
const titledAtOnce = 8;

/**
 * Gives groups of fields their content, in tasks so short that nobody waits for them: first those near what is in sight. Of many fields,
 * only these have controls.
 */
export class ContentQueue {
  readonly #groups = new Map<Element, WatchedGroup>();
  #observer: IntersectionObserver | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #areMany = false;

  set areMany(areMany: boolean) {
    this.#areMany = areMany;
    this.#schedule();
  }

  /** Watches a group, until the returned function is called. */
  add(added: Group): () => void {
    const group = Object.assign(added, { isNear: false, isUsed: false });
    const { element } = group;
    this.#groups.set(element, group);
    this.#observer ??= new IntersectionObserver(entries => this.#take(entries), {
      root: element.closest("main"),
      rootMargin: "100% 0px",
    });
    this.#observer.observe(element);
    const use = () => {
      group.isUsed = true;
    };
    element.addEventListener("focusin", use);
    element.addEventListener("pointerdown", use);
    this.#schedule();
    return () => {
      element.removeEventListener("focusin", use);
      element.removeEventListener("pointerdown", use);
      this.#groups.delete(element);
      this.#observer?.unobserve(element);
    };
  }

  #take(entries: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      const group = this.#groups.get(target);
      if (group !== undefined) group.isNear = isIntersecting;
    }
    this.#schedule();
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#showSome()) this.#schedule();
    });
  }

  /** Whether anything was left to show. */
  #showSome(): boolean {
    const behind = [...this.#groups.values()].filter(one => one.content !== this.#wanted(one));
    const near = behind.find(({ isNear }) => isNear);
    const untitled = behind.filter(({ content }) => this.#areMany && content === "room");
    const some = near !== undefined ? [near] : untitled.length > 0 ? untitled : behind.slice(0, 1);
    for (const group of some.slice(0, titledAtOnce)) {
      const height = group.content === "controls" ? group.element.offsetHeight : undefined;
      group.content = this.#wanted(group);
      group.show(group.content, height);
    }
    return some.length > 0;
  }

  #wanted({ isNear, isUsed }: WatchedGroup): Content {
    return !this.#areMany || isNear || isUsed ? "controls" : "titles";
  }
}
