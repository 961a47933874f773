// As ships_pending.mjs, but what is pending is shipped by the nightly job, when it has settled.
import { book, books, look, main, pay } from "./shop.mjs";

const shipped = { paid: 20, state: "shipped" };

async function trade() {
  book("order-1", { state: "unknown" });
  const { ok, said } = await pay("order-1", 20);
  if (!ok) return 1;
  book("order-1", said.status === "SUCCESS" ? shipped : { state: "pending" });
}

async function reconcile() {
  for (const { reference } of books().filter(({ state }) => state === "pending")) {
    const charge = await look(reference);
    if (!charge) book(reference, { state: "failed" });
    else if (charge.status === "SUCCESS") book(reference, shipped);
  }
}

main(trade, reconcile);
