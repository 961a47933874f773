// A payment that waits for its payer is left there: another card pays for the order beside it.
import { book, main, pay } from "./shop.mjs";

const other = { paymentInformation: { cardNumber: "5555555555554444", expiryDate: "12/40", ccv: "123" } };

async function trade() {
  for (const more of [{}, other]) {
    const { said } = await pay("order-1", 20, more);
    if (said.status === "SUCCESS") return book("order-1", { paid: 20, state: "paid" });
  }
  book("order-1", { state: "unpaid" });
}

main(trade);
