// An error of the service is retried when it says that this may help. The payment had been taken before the error.
import { book, main, pay } from "./shop.mjs";

main(async () => {
  book("order-1", { state: "unknown" });
  for (let number = 1; number <= 3; number++) {
    const { ok, said } = await pay("order-1", 20);
    if (ok && said.status === "SUCCESS") {
      book("order-1", { paid: 20, state: "paid" });
      return 0;
    }
    if (!said.isRetryable) break;
  }
  return 3;
});
