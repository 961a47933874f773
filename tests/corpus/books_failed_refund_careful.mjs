// As books_failed_refund.mjs, but a refund is booked as the charge shows it; when it was not made a person is told.
import { book, main, pay, refund } from "./shop.mjs";

main(async () => {
  book("order-1", { state: "unknown" });
  const { said } = await pay("order-1", 20);
  if (said.status !== "SUCCESS") return 3;
  book("order-1", { paid: 20 });
  book("order-1", { state: "unknown" });
  if (!(await refund(said, 20))) return 3;
  book("order-1", { paid: 20, refunded: 20, state: "refunded" });
});
