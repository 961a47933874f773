// An order of two parcels is given back when the second cannot be paid, and booked so whatever becomes of the refund.
import { book, main, pay, refund } from "./shop.mjs";

main(async () => {
  book("order-1", { state: "unknown" });
  const first = await pay("order-1", 20, { metadata: { parcel: "1" } }).catch(() => undefined);
  if (!first) return 3;
  if (first.said.status !== "SUCCESS") return book("order-1", { state: "unpaid" });
  const second = await pay("order-1", 15, { metadata: { parcel: "2" } }).catch(() => undefined);
  if (!second) return 3;
  if (second.said.status === "SUCCESS") return book("order-1", { paid: 35, state: "paid" });
  await refund(first.said, 20).catch(() => undefined);
  book("order-1", { paid: 20, refunded: 20, state: "refunded" });
});
