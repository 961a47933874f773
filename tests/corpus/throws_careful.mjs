// As throws.mjs, but what went wrong is written down as an order that somebody has to look after, and is thrown then.
import { book, main, pay } from "./shop.mjs";

main(async () => {
  try {
    const { ok, said } = await pay("order-1", 129);
    if (!ok || said.status !== "SUCCESS") throw new Error(said.message ?? said.status);
    book("order-1", { paid: 129, state: "paid" });
  } catch (problem) {
    book("order-1", { state: "unknown" });
    throw problem;
  }
});
