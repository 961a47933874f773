import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "payfurl-mockserver/playwright";

const SHOP = fileURLToPath(new URL("../../../tests/e2e/node_shop/shop.mjs", import.meta.url));

/**
 * The shop of tests/e2e as a process of its own, which knows the sandbox by its environment.
 * @param {import("../src/sandbox.mjs").Sandbox} sandbox
 */
async function shopOf(sandbox) {
  const shop = spawn(process.execPath, [SHOP], { env: { ...process.env, ...sandbox.env }, stdio: ["ignore", "pipe", "inherit"] });
  const [address] = await once(shop.stdout, "data");
  return { address: String(address).trim(), [Symbol.dispose]: () => shop.kill() };
}

test.describe("the answer is lost", () => {
  test.use({ mockserverOptions: { scenario: "charged-but-unanswered" } });

  test("a shop that looks first charges once", async ({ page, mockserver }) => {
    const shop = await shopOf(mockserver);
    await page.goto(`${shop.address}/orders/order-1?amount=20.00`);
    await expect(page.locator("body")).toHaveText("paid");
    await mockserver.verify({ op: "charge.create", where: { "request.reference": "order-1" }, count: 1 });
    shop[Symbol.dispose]();
  });
});

test("the demo shop's page is paid in", async ({ page, mockserver }) => {
  await mockserver.assume({});
  await page.goto(`${mockserver.url}/demo?key=${mockserver.publicKey}`);
  await page.getByTestId("try-1").click();
  await page.getByTestId("buy").click();
  await expect(page.getByTestId("paid")).toBeVisible();
  expect((await mockserver.journal({ op: "charge.create" })).at(-1)?.status).toBe(201);
});
