// What the shops in Node share: calls of the service, webhooks, and books of one file for each order.
// `node SHOP.mjs` does the shop's business, `node SHOP.mjs books` prints its books as a JSON array, `node SHOP.mjs
// reconcile`, where there is such a job, asks the service about orders that are open.
import { createHmac } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

const { MOCKSERVER_URL, MOCKSERVER_SECRET_KEY, MOCKSERVER_RUN_DIR } = process.env;
const folder = MOCKSERVER_RUN_DIR || mkdtempSync(join(tmpdir(), "shop-"));
const providerId = "a26c371f-94f6-40da-add2-28ec8e9da8ed";
const card = { cardNumber: "4111111111111111", expiryDate: "12/40", ccv: "123" };

// Thrown when an answer did not come whole: nobody knows what has happened.
export class Lost extends Error {}

export async function ask(method, path, body) {
  const headers = { "x-secretkey": MOCKSERVER_SECRET_KEY, "content-type": "application/json" };
  const call = { method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(5000) };
  try {
    const answer = await fetch(MOCKSERVER_URL + path, call);
    const said = await answer.json();
    if (answer.status < 500 || "code" in said) return { ok: answer.ok, status: answer.status, said };
  } catch {}
  throw new Lost();
}

export function pay(reference, amount, more) {
  return ask("POST", "/charge/card", { providerId, reference, amount, paymentInformation: card, ...more });
}

// Give back a part of a charge: whether that was made.
export async function refund({ chargeId }, amount) {
  return (await ask("DELETE", `/refund/${chargeId}?amount=${amount}`)).ok;
}

// The charge of an order that holds money, if there is one.
export async function look(reference) {
  const { said } = await ask("GET", `/charge?Reference=${reference}`);
  return said.charges.find(({ status }) => ["Authorised", "SUCCESS", "PENDING", "PARTIAL_REFUND"].includes(status));
}

// Write down what the shop believes of an order.
export function book(reference, row) {
  writeFileSync(join(folder, `${reference}.json`), JSON.stringify({ reference, ...row }));
}

export function books() {
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return files.sort().map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
}

// Do what the command line asks for. A job returns its exit code, or nothing.
export async function main(trade, reconcile) {
  const [asked] = process.argv.slice(2);
  if (asked === "books") console.log(JSON.stringify(books()));
  else process.exit((await (asked === "reconcile" ? reconcile() : trade())) ?? 0);
}

// Where webhooks arrive: each is given to `take(body, signature)`, which returns the status to answer with.
export async function webhooks(take) {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    response.writeHead(await take(body, request.headers["x-payfurl-signature"])).end();
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return { url: `http://127.0.0.1:${server.address().port}/webhooks` };
}

export const sleep = setTimeout;

// Whether the service has signed a webhook.
export function isSigned(body, signature) {
  return signature === createHmac("sha256", "mockserver-webhook-key").update(body).digest("base64");
}

const TAKEN = ["SUCCESS", "PARTIAL_REFUND", "REFUND"];
const UNDONE = ["FAILED", "AUTHORISE_CANCELLED", "VOIDED"];

async function askUntilAnswered(method, path) {
  for (let tries = 0; tries < 8; tries++) {
    const answer = await ask(method, path).catch(() => undefined);
    if (answer?.ok) return answer;
  }
  throw new Lost();
}

// What was given back of a charge, or is on its way.
function refundsOf({ refunds }) {
  return refunds.reduce((sum, { amount }) => sum + amount, 0);
}

// What some charges of an order say together, of which so much is wanted.
export function figures(charges, wanted) {
  const taken = charges.filter(({ status }) => TAKEN.includes(status));
  const paid = taken.reduce((sum, { amount }) => sum + amount, 0);
  const isOpen = charges.some(({ status }) => !TAKEN.includes(status) && !UNDONE.includes(status));
  if (isOpen) return { state: paid ? "unknown" : "pending" };
  const refunded = taken.reduce((sum, charge) => sum + refundsOf(charge), 0);
  if (!paid) return { state: "unpaid" };
  if (paid - refunded === wanted) return { paid, refunded, state: "paid" };
  return paid === refunded ? { paid, refunded, state: "refunded" } : { paid, refunded };
}

// What a careful shop does at night: an order is paid by one charge of each amount, and whatever else is taken for it
// is given back. What the books are to say of it.
export async function square(reference, ...amounts) {
  const tried = new Set();
  for (let tries = 0; tries < 8; tries++) {
    const { said } = await askUntilAnswered("GET", `/charge?Reference=${reference}`);
    const due = [...amounts];
    const spare = said.charges.reverse().find((charge) => {
      if (charge.status !== "SUCCESS" || refundsOf(charge) || tried.has(charge.chargeId)) return false;
      const place = due.indexOf(charge.amount);
      if (place >= 0) due.splice(place, 1);
      return place < 0;
    });
    if (!spare) return figures(said.charges, amounts.reduce((sum, amount) => sum + amount));
    const isAnswered = await refund(spare, spare.amount).then(() => true, () => false);
    if (isAnswered) tried.add(spare.chargeId);
  }
  throw new Lost();
}
