import { mockserver } from "payfurl-mockserver";
import { situations } from "./situations.mjs";

situations((name, options, body) => globalThis.test(name, mockserver(options, body), 90_000));
