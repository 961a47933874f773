import { test } from "payfurl-mockserver/playwright";
import { situations } from "./situations.mjs";

situations((name, mockserverOptions, body) => {
  test.describe(() => {
    test.use({ mockserverOptions });
    test(name, ({ mockserver }) => body(mockserver));
  });
});
