// Another card pays while the first payment may still come: as long as that is open the second one is given back, and
// the order waits for the first.
import { ask, book, main, pay, refund } from "../shop.mjs";

const paymentInformation = { cardNumber: "5555555555554444", expiryDate: "12/40", ccv: "123" };

async function trade() {
  book("order-1", { state: "unknown" });
  const first = await pay("order-1", 20);
  if (first.said.status === "SUCCESS") return book("order-1", { paid: 20, state: "paid" });
  const second = await pay("order-1", 20, { paymentInformation });
  if (second.said.status !== "SUCCESS") return 3;
  if (!first.ok) return book("order-1", { paid: 20, state: "paid" });
  const { said } = await ask("GET", `/charge/${first.said.chargeId}`);
  if (said.status === "FAILED") return book("order-1", { paid: 20, state: "paid" });
  if (!(await refund(second.said, 20))) return 3;
  book("order-1", { state: "pending" });
}

main(trade);
