/**
 * Throws for a word that is none of the allowed ones, with the nearest of them.
 * @param {string} what
 * @param {unknown} got
 * @param {readonly string[]} allowed
 */
export function known(what: string, got: unknown, allowed: readonly string[]): void;
/**
 * Throws for the first name of an object that is none of the allowed ones.
 * @param {string} what
 * @param {object} given
 * @param {readonly string[]} allowed
 */
export function knownNames(what: string, given: object, allowed: readonly string[]): void;
/** Refuses what nothing reads: a misspelt option would leave its test green without its failure. */
/** @typedef {Record<string, any>} Json */
/** A control call was refused, a verification failed, or a test did something wrong. */
export class MockserverError extends Error {
    /**
     * @param {string} message
     * @param {Json} [body] what the server answered
     */
    constructor(message: string, body?: Json);
    /** @type {Json | undefined} what the server answered; not printed, as the report says it better */
    body: Json | undefined;
}
export type Json = Record<string, any>;
