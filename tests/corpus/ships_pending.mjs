// What is not refused is shipped: also a payment that the provider has only promised to decide on.
import { book, main, pay } from "./shop.mjs";

main(async () => {
  book("order-1", { state: "unknown" });
  const { ok } = await pay("order-1", 20);
  if (!ok) return 1;
  book("order-1", { paid: 20, state: "shipped" });
});
