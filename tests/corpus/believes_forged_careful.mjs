// As believes_forged.mjs, but only what the service has signed is believed, and what it does not report is looked up.
import { book, books, isSigned, look, main, pay, sleep, webhooks } from "./shop.mjs";

const paid = { paid: 20, state: "paid" };

main(async () => {
  const webhook = await webhooks((body, signature) => {
    if (!isSigned(body, signature)) return 401;
    const { reference, status } = JSON.parse(body).data;
    if (status === "SUCCESS") book(reference, paid);
    return 200;
  });
  book("order-1", { state: "pending" });
  await pay("order-1", 20, { webhook });
  await sleep(500);
  if (books()[0].state === "pending" && (await look("order-1"))?.status === "SUCCESS") book("order-1", paid);
});
