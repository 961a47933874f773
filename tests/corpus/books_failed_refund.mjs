// A refund is booked when it was sent. Whether the service has made it nobody asks.
import { book, main, pay, refund } from "./shop.mjs";

main(async () => {
  book("order-1", { state: "unknown" });
  const { said } = await pay("order-1", 20);
  if (said.status !== "SUCCESS") return 3;
  book("order-1", { paid: 20 });
  await refund(said, 20);
  book("order-1", { paid: 20, refunded: 20, state: "refunded" });
});
