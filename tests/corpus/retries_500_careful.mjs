// As retries_500.mjs, but after an error of the service itself the shop looks before it sends the payment again.
import { book, look, main, pay } from "./shop.mjs";

main(async () => {
  book("order-1", { state: "unknown" });
  for (let number = 1; number <= 3; number++) {
    const { status, said } = await pay("order-1", 20);
    const charge = status < 500 ? said : await look("order-1");
    if (charge?.status === "SUCCESS") {
      book("order-1", { paid: 20, state: "paid" });
      return 0;
    }
    if (!said.isRetryable) break;
  }
  return 3;
});
