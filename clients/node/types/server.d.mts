/**
 * Starts a server on a free port and waits until it is ready.
 * @param {string[]} [args] options of `mockserver serve`, such as ["--strict"]
 */
export function startServer(args?: string[]): Promise<Server>;
/**
 * Joins a server that runs already.
 * @param {string} url
 */
export function joinServer(url: string): Promise<Server>;
/**
 * The server of this process: that of MOCKSERVER_URL, else one that is started when it is first asked for.
 * @param {string[]} [args]
 */
export function sharedServer(args?: string[]): Promise<Server>;
/** The version of the server that this client was made for: major and minor must be the same. */
export const VERSION: "0.1";
/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {string} text
 */
export class Server {
    /**
     * @param {string} url without a slash at its end
     * @param {import("node:child_process").ChildProcess} [child] when it was started here
     * @param {string} [log] the path of what it prints
     */
    constructor(url: string, child?: import("node:child_process").ChildProcess, log?: string);
    url: string;
    child: import("child_process").ChildProcess | undefined;
    log: string | undefined;
    /** Whether it was there before. */
    get joined(): boolean;
    /**
     * One request.
     * @param {string} method
     * @param {string} path with its query
     * @param {Record<string, string>} headers
     * @param {string} [body]
     * @returns {Promise<Answer>}
     */
    send(method: string, path: string, headers: Record<string, string>, body?: string): Promise<Answer>;
    /** Ends it, when it was started here. */
    stop(): void;
    #private;
}
export type Answer = {
    status: number;
    text: string;
};
