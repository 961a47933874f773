/** Refuses what nothing reads: a misspelt option would leave its test green without its failure. */

/** @typedef {Record<string, any>} Json */

/** A control call was refused, a verification failed, or a test did something wrong. */
export class MockserverError extends Error {
  /**
   * @param {string} message
   * @param {Json} [body] what the server answered
   */
  constructor(message, body) {
    super(message);
    this.name = "MockserverError";
    /** @type {Json | undefined} what the server answered; not printed, as the report says it better */
    this.body = undefined;
    Object.defineProperty(this, "body", { value: body, enumerable: false });
  }
}

/**
 * Throws for a word that is none of the allowed ones, with the nearest of them.
 * @param {string} what
 * @param {unknown} got
 * @param {readonly string[]} allowed
 */
export function known(what, got, allowed) {
  const word = String(got);
  if (allowed.includes(word)) return;
  throw new MockserverError(`${what}: got '${word}'${hint(word, allowed)}, allowed: ${allowed.join(", ")}`);
}

/**
 * Throws for the first name of an object that is none of the allowed ones.
 * @param {string} what
 * @param {object} given
 * @param {readonly string[]} allowed
 */
export function knownNames(what, given, allowed) {
  for (const name of Object.keys(given)) known(what, name, allowed);
}

/**
 * @param {string} word
 * @param {readonly string[]} allowed
 */
function hint(word, allowed) {
  const distances = allowed.map((one) => distance(word.toLowerCase(), one.toLowerCase()));
  const least = Math.min(...distances);
  return least <= word.length / 3 ? ` - did you mean '${allowed[distances.indexOf(least)]}'?` : "";
}

/**
 * How many letters must be added, taken away or changed.
 * @param {string} one
 * @param {string} other
 */
function distance(one, other) {
  let before = Array.from({ length: other.length + 1 }, (_, place) => place);
  for (const [row, letter] of [...one].entries()) {
    const now = [row + 1];
    for (const [place, wanted] of [...other].entries()) {
      const changed = (before[place] ?? 0) + (letter === wanted ? 0 : 1);
      now.push(Math.min(changed, (before[place + 1] ?? 0) + 1, (now[place] ?? 0) + 1));
    }
    before = now;
  }
  return before[other.length] ?? 0;
}
