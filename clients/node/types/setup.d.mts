/** Starts a server, unless MOCKSERVER_URL names one, and says where it is to all workers; what stops it again. */
export default function setup(): Promise<() => void>;
