/** Replaces secrets in output that arrives in parts, also where one is in two of them. */
export class Redactor {
  readonly #secrets: readonly Buffer[];
  readonly #longest: number;
  /** The end of the output so far, which may be the beginning of a secret. */
  #held: Buffer = Buffer.alloc(0);
  /** How many bytes of it are of a secret that has been found. */
  #covered = 0;
  /** Whether what was written last is a mask: secrets that overlap have one together. */
  #isMasking = false;

  constructor(secrets: Iterable<string>) {
    this.#secrets = [...new Set([...secrets].flatMap(formsOf))].map(text => Buffer.from(text));
    this.#longest = Math.max(0, ...this.#secrets.map(({ length }) => length));
  }

  /** What may be written after this part has come. */
  push(part: Buffer): Buffer {
    return this.#write(Buffer.concat([this.#held, part]), false);
  }

  /** The rest. */
  end(): Buffer {
    return this.#write(this.#held, true);
  }

  #write(text: Buffer, isLast: boolean): Buffer {
    const written: Buffer[] = [];
    let [index, plainFrom] = [0, 0];
    for (; index < text.length; index += 1) {
      for (const secret of this.#secrets)
        if (text[index] === secret[0] && text.subarray(index, index + secret.length).equals(secret))
          this.#covered = Math.max(this.#covered, index + secret.length);
      if (!isLast && this.#mayBegin(text.subarray(index))) break;
      const isSecret = index < this.#covered;
      if (isSecret) {
        written.push(text.subarray(plainFrom, index));
        if (!this.#isMasking) written.push(mask);
        plainFrom = index + 1;
      }
      this.#isMasking = isSecret;
    }
    written.push(text.subarray(plainFrom, index));
    this.#held = Buffer.from(text.subarray(index));
    this.#covered = Math.max(0, this.#covered - index);
    return Buffer.concat(written);
  }

  /** Whether more output could make a secret of it. */
  #mayBegin(end: Buffer): boolean {
    return (
      end.length < this.#longest &&
      this.#secrets.some(
        secret => secret.length > end.length && secret.compare(end, 0, end.length, 0, end.length) === 0,
      )
    );
  }
}

const mask = Buffer.from("••••••");

/** Characters of the shortest secret that is masked: a shorter one would hide much that is none. */
export const shortestSecret = 4;
/** And of the shortest line of one. */
const shortestLine = 8;

/** A secret as it is, as JSON has it, and line by line, as programs print a key that they indent. */
function formsOf(secret: string): string[] {
  const lines = secret.split(/\r?\n/);
  const trimmed = lines.map(line => line.trim()).filter(line => line.length >= shortestLine);
  return [secret.trimEnd(), JSON.stringify(secret).slice(1, -1), ...(lines.length > 1 ? trimmed : [])].filter(
    form => form.length >= shortestSecret,
  );
}
