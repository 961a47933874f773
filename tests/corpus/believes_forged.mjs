// Whoever posts to the shop's address that an order is paid is believed.
import { book, main, pay, sleep, webhooks } from "./shop.mjs";

main(async () => {
  const webhook = await webhooks((body) => {
    const { reference, status } = JSON.parse(body).data;
    if (status === "SUCCESS") book(reference, { paid: 20, state: "paid" });
    return 200;
  });
  book("order-1", { state: "pending" });
  await pay("order-1", 20, { webhook });
  await sleep(500);
});
