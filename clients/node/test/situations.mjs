/** The situations of ../../contract.yaml, for any framework: `define(name, options, body)` makes a test of each. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { mockserver, Sandbox } from "payfurl-mockserver";

const ORDER = {
  amount: 20, currency: "AUD", providerId: "a26c371f-94f6-40da-add2-28ec8e9da8ed",
  paymentInformation: { cardNumber: "4111111111111111", expiryDate: "12/40", ccv: "123" },
};
const DECLINED = { version: 1, rules: [{ id: "no-money", when: { op: "charge.create" }, then: { decline: "insufficient_funds" } }] };
const LOST = "version: 1\nrules: [{id: lost, when: {op: charge.create, call: 1}, then: {transport: {at: answer, reset: true}}}]\n";

/**
 * @param {Sandbox} sandbox
 * @param {object} more
 */
async function pay(sandbox, more) {
  const answer = await sandbox.fetch("/charge/card", { method: "POST", body: JSON.stringify({ ...ORDER, ...more }) });
  return await answer.json();
}

/** @param {Sandbox} sandbox @param {string} reference */
async function payTwice(sandbox, reference) {
  await pay(sandbox, { reference }).catch(() => pay(sandbox, { reference }));
}

/** @type {Sandbox[]} */
const seen = [];

/** @param {(name: string, options: object, body: (sandbox: Sandbox) => Promise<void>) => void} define */
export function situations(define) {
  for (const name of ["two tests see nothing of each other", "and neither does the other"]) {
    define(name, {}, async (sandbox) => {
      await pay(sandbox, { reference: "order-1" });
      const found = await (await sandbox.fetch("/charge?Reference=order-1")).json();
      assert.equal(found.count, 1);
    });
  }
  define("a scenario is chosen by annotation", { scenario: DECLINED }, async (sandbox) => {
    assert.equal((await pay(sandbox, { reference: "order-1" })).code, 15);
    assert.equal((await sandbox.rules()).find((rule) => rule.id === "no-money")?.hits, 1);
  });
  define("the clock is frozen and moved", { clock: "2031-03-01T00:00:00Z" }, async (sandbox) => {
    assert.equal((await sandbox.clock.advance("36h")).toISOString(), "2031-03-02T12:00:00.000Z");
    await sandbox.clock.to("2031-03-03T00:00:00Z");
    assert.equal((await sandbox.clock.now()).toISOString(), "2031-03-03T00:00:00.000Z");
  });
  define("a webhook arrives in the inbox", {}, async (sandbox) => {
    await pay(sandbox, { reference: "order-1", webhook: { url: await sandbox.inbox.url("shop") } });
    await sandbox.waitFor({ inbox: "shop" });
    const [message] = await sandbox.inbox.messages("shop");
    assert.equal(message?.signature, "valid");
  });
  define("wait for a charge, moving the clock", { scenario: "bank-charge-bounces" }, async (sandbox) => {
    const charge = await pay(sandbox, { reference: "order-1" });
    await sandbox.waitFor({ charge: { id: charge.chargeId, status: "SUCCESS" } }, { advance: true, within: "10d" });
    await assert.rejects(sandbox.waitFor({ inbox: "nowhere" }, { timeout: "10ms" }), /inbox: /);
  });
  define("verify what was asked", {}, async (sandbox) => {
    await pay(sandbox, { reference: "order-1" });
    await sandbox.verify({ op: "charge.create", where: { "request.reference": "order-1" }, count: 1 });
    await assert.rejects(sandbox.verify({ op: "charge.create", count: 2 }), /wanted exactly 2, got 1/);
  });
  define("books that agree pass", { books: () => [{ reference: "order-1", paid: 20 }] }, async (sandbox) => {
    await pay(sandbox, { reference: "order-1" });
  });
  define("an allowed finding passes", { scenario: LOST, allow: ["double-charge", "blind-retry"] }, async (sandbox) => {
    await payTwice(sandbox, "order-1");
    assert.deepEqual((await sandbox.findings("error")).map((one) => one.finding), ["double-charge"]);
  });
  define("books that differ fail the test", { books: () => [{ reference: "order-books", paid: 30 }] }, async (sandbox) => {
    await pay(sandbox, { reference: "order-books" });
  });
  define("a finding fails the test", { scenario: LOST }, (sandbox) => payTwice(sandbox, "order-1"));
  define("an invariant that is broken fails the test", {}, async (sandbox) => {
    sandbox.invariant("net(*) <= 10");
    await pay(sandbox, { reference: "order-1" });
  });
  const expecting = "version: 1\nrules: [{id: never-asked, when: {op: charge.capture}, then: {decline: do_not_honour}, expect: {min: 1}}]\n";
  define("an unmet expectation of a rule fails the test", { scenario: expecting }, async () => {});
  define("a failing test of another sandbox", {}, async (sandbox) => {
    await pay(sandbox, { reference: "order-of-another-test" });
  });
  define("a failing test shows its timeline and no other", {}, async (sandbox) => {
    await pay(sandbox, { reference: "order-of-this-test" });
    assert.equal(1, 2);
  });
  define("a scenario that is refused says its line", { scenario: "version: 1\nrules:\n  - {id: x, when: {op: charge.creat}}\n" }, async () => {});
  define("an unknown option is refused", { scenaroi: DECLINED }, async () => {});
  define("an unknown level of findings is refused", { findings: "none" }, async () => {});
  define("each unknown word is refused with the nearest known one", {}, async (sandbox) => {
    const misspelt = /** @type {any} */ ([
      [{ scenaroi: DECLINED }, /options: got 'scenaroi' - did you mean 'scenario'\?, allowed: scenario, profile, /],
      [{ Findings: "off" }, /options: got 'Findings' - did you mean 'findings'\?/],
      [{ colour: "red" }, /options: got 'colour', allowed: scenario/],
      [{ findings: "warnings" }, /findings: got 'warnings' - did you mean 'warning'\?/],
    ]);
    for (const [options, words] of misspelt) {
      await assert.rejects(Sandbox.open(sandbox.server, "misspelt", options), words);
      await assert.rejects(sandbox.end(options), words);
    }
    const boddy = /** @type {any} */ ({ boddy: {} });
    await assert.rejects(sandbox.call("POST", "/__admin/reset", boddy), /reset: got 'boddy' - did you mean 'body'\?/);
    const body = () => {};
    assert.throws(() => mockserver(body, /** @type {any} */ ({ scenario: DECLINED })), /the options come first/);
  });
  if (process.env["CONTRACT_DIES"]) {
    define("a server that dies is named", {}, async (sandbox) => {
      seen.push(sandbox);
      sandbox.server.child?.kill("SIGKILL");
      await pay(sandbox, { reference: "order-1" }).catch(() => {});
      await sandbox.rules();
    });
  }
  if (process.env["CONTRACT_TELL"]) {
    define("the server ends when the run is killed", {}, async (sandbox) => {
      writeFileSync(String(process.env["CONTRACT_TELL"]), sandbox.url);
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    });
  }
}
