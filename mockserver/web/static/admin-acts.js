// What can be done to an object by hand: a button for each move that its state allows, the provider not being asked.
import { api } from "./admin-api.js";
import { h, act, say } from "./admin-dom.js";

const DELETE = ["Delete", () => ({ delete: {} })];
const EXPIRE = ["Expire", () => ({ expire: {} })];

// The moves of a charge by the event of its state table: a label, what the control API is asked for, and whether an
// amount may stand beside it.
const CHARGE = {
  captured: ["Capture", (amount) => ({ capture: amount }), true],
  voided: ["Void", () => ({ void: {} })],
  expired: EXPIRE,
  partly_refunded: ["Refund", (amount) => ({ refund: amount }), true],
  settled: ["Settle", () => ({ settle: "SUCCESS" })],
  returned: ["Bounce", () => ({ settle: "FAILED" })],
};
const CHALLENGE = {
  paid: ["Pass 3-D Secure", () => ({ settle: "SUCCESS" })],
  declined: ["Fail 3-D Secure", () => ({ settle: "FAILED" })],
  abandoned: ["Leave 3-D Secure", () => ({ settle: "ABANDONED" })],
};
const MOVES = {
  charge: CHARGE, vault: { deleted: DELETE, expired: EXPIRE }, token: { expired: EXPIRE }, customer: { removed: DELETE }, payment_method: { removed: DELETE },
};
const SETTABLE = ["payto", "network_token", "subscription"];
const DISPUTE = ["Dispute", () => ({ emit: { event: "charge.dispute.created" } })];

function acts(kind, moves) {
  const events = Object.keys(moves);
  if (SETTABLE.includes(kind)) return events.filter((event) => event !== "updated").map((event) => [`Set ${moves[event]}`, () => ({ set: { [`${kind}.status`]: moves[event] } })]);
  const known = events.includes("abandoned") ? CHALLENGE : MOVES[kind] || {};
  const found = events.filter((event) => known[event]).map((event) => known[event]);
  return events.includes("partly_refunded") ? [...found, DISPUTE] : found;
}

export function actions(kind, id, moves, changed) {
  const offered = acts(kind, moves || {}).sort((one, two) => Boolean(two[2]) - Boolean(one[2]));
  if (!offered.length) return null;
  const amount = h("input", { class: "amount", inputmode: "decimal", placeholder: "amount or all", "aria-label": "Amount, all of it when empty", "data-testid": "act-amount", onkeydown: ({ key }) => { if (key === "Enter") amount.nextSibling.click(); } });
  const button = ([label, body, hasAmount]) => act(label, async () => {
    const given = amount.value.trim();
    await api("POST", `/__admin/objects/${kind}/${encodeURIComponent(id)}`, body(hasAmount && given ? { amount: Number(given) } : {}));
    amount.value = "";
    say(`${label}: done. The journal has it as sent by the control page.`, "info");
    await changed();
  }, { "data-testid": `act-${label.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}` });
  return h("div", { class: "acts" }, h("div", { class: "actions", role: "group", "aria-label": "Act on it" },
    offered.some(([, , hasAmount]) => hasAmount) ? amount : null, offered.map(button)));
}

const OUTCOMES = {
  "insufficient funds": { decline: "insufficient_funds" }, "do not honour": { decline: "do_not_honour" }, "expired card": { decline: "expired_card" },
  "stolen card": { decline: "stolen_card" }, "wrong security code": { decline: "wrong_ccv" }, "provider down": { provider_down: {} },
  "3-D Secure is asked": { challenge: {} }, "pending, then paid": { pending: { settle: "SUCCESS" } }, "pending, then bounced": { pending: { settle: "FAILED" } },
  "answer lost, it has happened": { transport: { at: "answer", reset: true } }, "503, nothing has happened": { transport: { at: "receive", status: 503 } },
};

// One choice that decides what becomes of the next payment, whatever its card, and of no other: a limit counts all
// payments together, where a sequence would count those of each card.
export function nextPayment(changed) {
  const choice = h("select", { "aria-label": "What becomes of the next payment", "data-testid": "next-outcome" }, Object.keys(OUTCOMES).map((name) => h("option", {}, name)));
  return h("div", { class: "actions" }, choice, act("Set", async () => {
    const rule = { id: "next-payment", when: { op: "charge.create" }, limit: 1, then: OUTCOMES[choice.value] };
    await api("DELETE", "/__admin/scenarios?name=next-payment").catch(() => null);
    await api("POST", "/__admin/scenarios", { version: 1, name: "next-payment", description: `The next payment: ${choice.value}`, rules: [rule] });
    say(`The next payment: ${choice.value}.`, "info");
    await changed();
  }, { "data-testid": "next-payment" }));
}
