// A webhook is a hint, whoever sends it: the charge that it names is read, and the order is paid when the service says
// that this charge is of this order and has paid its price.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ask, book, main, pay, sleep, square, webhooks } from "../shop.mjs";

async function take(chargeId) {
  if (!/^[0-9a-f]{32}$/.test(chargeId)) return;
  const { ok, said } = await ask("GET", `/charge/${chargeId}`);
  const isPaid = ok && said.reference === "order-1" && said.status === "SUCCESS" && said.amount === 20;
  if (isPaid) book("order-1", { paid: 20, state: "paid" });
}

async function trade() {
  try {
    writeFileSync(join(process.env.MOCKSERVER_RUN_DIR, "begun"), "", { flag: "wx" });
  } catch {
    return;
  }
  book("order-1", { state: "unknown" });
  let hear;
  const heard = new Promise((resolve) => (hear = resolve));
  const webhook = await webhooks(async (body) => {
    const isTaken = await take(JSON.parse(body).data.chargeId).then(() => true, () => false);
    hear();
    return isTaken ? 200 : 503;
  });
  await pay("order-1", 20, { webhook }).catch(() => undefined);
  // What comes after the first one is near.
  await Promise.race([heard, sleep(1500)]);
  await sleep(200);
}

main(trade, async () => book("order-1", await square("order-1", 20)));
