// A payment whose answer is lost is paid again, though the webhook has said by then that it was taken.
import { Lost, book, isSigned, main, pay, sleep, webhooks } from "./shop.mjs";

main(async () => {
  const heard = [];
  const webhook = await webhooks((body, signature) => {
    if (!isSigned(body, signature)) return 401;
    heard.push(JSON.parse(body).data);
    return 200;
  });
  book("order-1", { state: "unknown" });
  for (let left = 3; left > 0; left -= 1) {
    try {
      const { ok, said } = await pay("order-1", 20, { webhook });
      book("order-1", ok && said.status === "SUCCESS" ? { paid: 20, state: "paid" } : { state: "unknown" });
      return;
    } catch (problem) {
      if (!(problem instanceof Lost)) throw problem;
      await sleep(400);
    }
  }
});
