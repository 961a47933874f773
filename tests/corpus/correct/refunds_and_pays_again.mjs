// The customer gives the order back, changes her mind, and pays for it again with the same card.
import { book, main, pay, refund } from "../shop.mjs";

main(async () => {
  book("order-1", { state: "unknown" });
  const first = await pay("order-1", 20);
  if (first.said.status !== "SUCCESS") return 3;
  book("order-1", { paid: 20, state: "unknown" });
  if (!(await refund(first.said, 20))) return 3;
  book("order-1", { paid: 20, refunded: 20, state: "unknown" });
  const second = await pay("order-1", 20);
  if (second.said.status !== "SUCCESS") return 3;
  book("order-1", { paid: 40, refunded: 20, state: "paid" });
});
