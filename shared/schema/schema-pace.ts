/** Schemas to handle before yielding: a few milliseconds of work. */
const schemasAtOnce = 1_000;

/** Returns a function to call for each schema; it tells whether it is time to yield. */
export function schemaPace(): () => boolean {
  let count = 0;
  return () => {
    count += 1;
    return count % schemasAtOnce === 0;
  };
}
