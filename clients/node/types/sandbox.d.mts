export { MockserverError } from "./refusals.mjs";
export class Sandbox {
    /**
     * The sandbox of a test: the same key in every run, so that its ids are too.
     * @param {Server} server
     * @param {string} test its name, with its file
     * @param {Options} [options]
     */
    static open(server: Server, test: string, options?: Options): Promise<Sandbox>;
    /**
     * @param {Server} server
     * @param {string} secretKey
     */
    constructor(server: Server, secretKey: string);
    server: import("./server.mjs").Server;
    url: string;
    secretKey: string;
    publicKey: string;
    clock: Clock;
    inbox: Inbox;
    /** The variables by which an application that is started for the test finds this sandbox. */
    get env(): {
        MOCKSERVER_URL: string;
        MOCKSERVER_SECRET_KEY: string;
        MOCKSERVER_PUBLIC_KEY: string;
    };
    /**
     * A request to the payments API with this sandbox's key.
     * @param {string} path
     * @param {RequestInit} [init]
     */
    fetch(path: string, init?: RequestInit): Promise<Response>;
    /**
     * A control call; what it answers.
     * @param {string} method
     * @param {string} path
     * @param {{query?: Record<string, string | number | boolean>, body?: unknown, yaml?: string}} [more]
     * @returns {Promise<any>}
     */
    call(method: string, path: string, more?: {
        query?: Record<string, string | number | boolean>;
        body?: unknown;
        yaml?: string;
    }): Promise<any>;
    /**
     * Puts a scenario in force in the place of all others.
     * @param {string | Json} given a map, YAML text, the path of a file, or the name of a shipped scenario
     */
    scenario(given: string | Json): Promise<any>;
    /** @param {Json} overrides of assumptions, such as {"vault.ccv_delay": "10s"} */
    assume(overrides: Json): Promise<any>;
    /**
     * Waits until all conditions hold: {charge: {id, status: "SUCCESS"}}, {inbox: "shop"}.
     * @param {Json} conditions
     * @param {{timeout?: string, advance?: boolean, within?: string}} [how] with advance it moves the clock
     */
    waitFor(conditions: Json, how?: {
        timeout?: string;
        advance?: boolean;
        within?: string;
    }): Promise<any>;
    /**
     * Checks what was asked: {op: "charge.create", where: {"request.reference": "order-1"}, count: 1}, or an operation.
     * @param {...(string | Json)} requests
     */
    verify(...requests: (string | Json)[]): Promise<void>;
    /**
     * Compares what the shop believes with what was paid.
     * @param {Json[]} rows such as {reference: "order-1", paid: 20}
     * @param {Record<string, string>} [states] what the shop's own states mean
     */
    books(rows: Json[], states?: Record<string, string>): Promise<void>;
    /** @param {string} sentence must hold of the money when the test ends, such as 'net("order-1") <= 20' */
    invariant(sentence: string): void;
    /**
     * What the client did wrong.
     * @param {"note" | "warning" | "error"} [severity]
     * @returns {Promise<Json[]>}
     */
    findings(severity?: "note" | "warning" | "error"): Promise<Json[]>;
    /**
     * The newest steps of the journal, oldest first.
     * @param {Record<string, string | number>} [filters] such as {op: "charge.create"}
     * @returns {Promise<Json[]>}
     */
    journal(filters?: Record<string, string | number>): Promise<Json[]>;
    /** Every rule with its counters. @returns {Promise<Json[]>} */
    rules(): Promise<Json[]>;
    /** Empties this sandbox; its scenario stays. */
    reset(): Promise<any>;
    /** Timeline, findings and books of this sandbox, as text. @returns {Promise<string>} */
    report(): Promise<string>;
    /**
     * Ends the test: throws for books that differ, unmet expectations of rules, broken invariants and findings.
     * @param {Options} [options]
     */
    end(options?: Options): Promise<void>;
    #private;
}
export type Server = import("./server.mjs").Server;
export type Json = Record<string, any>;
export type Options = {
    /**
     * a map, YAML text, the path of a file, or the name of a shipped scenario
     */
    scenario?: string | Json | undefined;
    profile?: "documented" | "sdk" | undefined;
    /**
     * real, manual, or the instant at which it stands
     */
    clock?: string | undefined;
    /**
     * findings that the test may have
     */
    allow?: string[] | undefined;
    /**
     * the least severity that fails the test; error unless told
     */
    findings?: "error" | "off" | "note" | "warning" | undefined;
    /**
     * gives the shop's books when the test has ended
     */
    books?: (() => Json[] | Promise<Json[]>) | undefined;
};
declare class Clock {
    /** @param {Sandbox} sandbox */
    constructor(sandbox: Sandbox);
    sandbox: Sandbox;
    /** The sandbox's time. */
    now(): Promise<Date>;
    /** @param {string} by such as "1h30m" */
    advance(by: string): Promise<Date>;
    /** @param {Date | string} to */
    to(to: Date | string): Promise<Date>;
    /** Stands still from now on. */
    freeze(): Promise<Date>;
    /** @param {string} given real, manual, or the instant at which an unused sandbox begins and stands */
    start(given: string): Promise<void>;
    #private;
}
declare class Inbox {
    /** @param {Sandbox} sandbox */
    constructor(sandbox: Sandbox);
    sandbox: Sandbox;
    /** The address to give as a webhook's url. */
    url(name?: string): Promise<string>;
    /** What has arrived, in order. @returns {Promise<Json[]>} */
    messages(name?: string): Promise<Json[]>;
    /** Forgets what has arrived. */
    clear(name?: string): Promise<any>;
}
