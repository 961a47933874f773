import { mockserver } from "payfurl-mockserver";
import { test } from "vitest";
import { situations } from "./situations.mjs";

situations((name, options, body) => test.concurrent(name, mockserver(options, body), 90_000));
