// The end of a 3-D Secure challenge: the payer's answer goes to the page that holds this one in a frame.
(function () {
  "use strict";

  const outcome = document.querySelector("[data-answer]");
  if (window.parent !== window) window.parent.postMessage({ challenge: outcome.dataset.answer }, "*");
}());
