// As new_reference.mjs, but all tries have the reference of the order, by which a lost one is found.
import { Lost, book, look, main, pay } from "./shop.mjs";

main(async () => {
  book("order-1", { state: "unknown" });
  for (let number = 1; number <= 3; number++) {
    try {
      const charge = number > 1 ? await look("order-1") : undefined;
      const { status } = charge ?? (await pay("order-1", 20)).said;
      if (status !== "SUCCESS") return 1;
      book("order-1", { paid: 20, state: "paid" });
      return 0;
    } catch (problem) {
      if (!(problem instanceof Lost)) throw problem;
    }
  }
  return 3;
});
