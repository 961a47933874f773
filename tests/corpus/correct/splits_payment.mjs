// Two friends share a bill. Both pay at the same time, each a half of the order, with a card of their own.
import { Lost, ask, book, main, pay } from "../shop.mjs";

const cards = ["4111111111111111", "5555555555554444"];
const half = (cardNumber) => pay("order-1", 10, { paymentInformation: { cardNumber, expiryDate: "12/40", ccv: "123" } });

main(async () => {
  book("order-1", { state: "unknown" });
  await Promise.allSettled(cards.map(half));
  const { said } = await ask("GET", "/charge?Reference=order-1");
  const paid = said.charges.filter(({ status }) => status === "SUCCESS");
  book("order-1", { paid: 10 * paid.length });
  return paid.length === cards.length ? 0 : 3;
});
