// Each try of a payment has a reference of its own, "so that the service does not refuse it as a duplicate".
import { Lost, book, main, pay } from "./shop.mjs";

main(async () => {
  for (let number = 1; number <= 3; number++) {
    try {
      const { said } = await pay(`order-1-${number}`, 20);
      if (said.status !== "SUCCESS") return 1;
      book(`order-1-${number}`, { paid: 20, state: "paid" });
      return 0;
    } catch (problem) {
      if (!(problem instanceof Lost)) throw problem;
    }
  }
  return 3;
});
