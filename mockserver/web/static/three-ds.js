// The end of a 3-D Secure challenge: tells the page that holds this one in a frame what the payer answered.
(function () {
  "use strict";

  const outcome = document.querySelector("[data-answer]");
  if (window.parent !== window) window.parent.postMessage({ challenge: outcome.dataset.answer }, "*");
}());
