import { test } from "node:test";
import { mockserver } from "payfurl-mockserver";
import { situations } from "./situations.mjs";

situations((name, options, body) => test(name, mockserver(options, body)));
