// As pays_after_webhook.mjs, but what the webhook has said is asked before the next try, and the service after that.
import { Lost, book, isSigned, look, main, pay, sleep, webhooks } from "./shop.mjs";

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
      const known = heard.find(({ status }) => status === "SUCCESS") ?? (left < 3 ? await look("order-1") : undefined);
      const { status } = known ?? (await pay("order-1", 20, { webhook })).said;
      book("order-1", status === "SUCCESS" ? { paid: 20, state: "paid" } : { state: "unknown" });
      return;
    } catch (problem) {
      if (!(problem instanceof Lost)) throw problem;
      await sleep(400);
    }
  }
});
