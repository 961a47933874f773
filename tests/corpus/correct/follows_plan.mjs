// A subscription is followed by its webhooks alone: each payment is booked by its charge, once, when the service has
// signed that it was made. At night the list of charges says what no webhook has told.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ask, book, isSigned, main, sleep, webhooks } from "../shop.mjs";

const providerId = "a26c371f-94f6-40da-add2-28ec8e9da8ed";
const card = { cardNumber: "4111111111111111", expiryDate: "12/40", ccv: "123" };

function take({ chargeId, status, amount, refundedAmount }) {
  const row = { charge: chargeId, paid: amount, refunded: refundedAmount ?? 0, state: "paid" };
  if (status === "SUCCESS") book(chargeId, row);
}

async function trade() {
  try {
    writeFileSync(join(process.env.MOCKSERVER_RUN_DIR, "begun"), "", { flag: "wx" });
  } catch {
    return;
  }
  const { url } = await webhooks((body, signature) => {
    if (!isSigned(body, signature)) return 401;
    const { meta, data } = JSON.parse(body);
    if (meta.type === "transaction") take(data);
    return 200;
  });
  await ask("POST", "/webhook/subscription", { url, types: ["Transaction"] });
  const method = await ask("POST", "/payment_method/card", { providerId, paymentInformation: card });
  const plan = { paymentMethodId: method.said.paymentMethodId, amount: "9.99", currency: "AUD", interval: "Month" };
  await ask("POST", "/subscription/payment_method", { ...plan, endAfter: { count: 2 } });
  await ask("POST", "/__admin/clock/advance", { by: "32d" });
  await sleep(300);
}

async function reconcile() {
  for (let tries = 0; tries < 8; tries++) {
    const answer = await ask("GET", "/charge?Limit=100").catch(() => undefined);
    if (!answer?.ok) continue;
    for (const charge of answer.said.charges) {
      if (charge.status === "SUCCESS") take(charge);
      else book(charge.chargeId, { charge: charge.chargeId, state: charge.status === "FAILED" ? "failed" : "pending" });
    }
    return;
  }
}

main(() => trade().catch(() => undefined), reconcile);
