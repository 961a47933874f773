// As pays_beside_challenge.mjs, but the order waits as long as its payer may still confirm the payment.
import { book, main, pay } from "./shop.mjs";

const other = { paymentInformation: { cardNumber: "5555555555554444", expiryDate: "12/40", ccv: "123" } };

async function trade() {
  for (const more of [{}, other]) {
    const { ok, said } = await pay("order-1", 20, more);
    if (said.status === "SUCCESS") return book("order-1", { paid: 20, state: "paid" });
    if (ok && said.status !== "FAILED") {
      console.log(`Please confirm your payment: ${said.threeDsRedirectUrl ?? "your bank will ask you"}`);
      return book("order-1", { state: "pending" });
    }
  }
  book("order-1", { state: "unpaid" });
}

main(trade);
