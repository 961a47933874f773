// A payment is sent by a job that throws what goes wrong; the order is written down once it is paid.
import { book, main, pay } from "./shop.mjs";

main(async () => {
  const { ok, said } = await pay("order-1", 129);
  if (!ok || said.status !== "SUCCESS") throw new Error(said.message ?? said.status);
  book("order-1", { paid: 129, state: "paid" });
});
