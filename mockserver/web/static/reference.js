// Draws an OpenAPI document with Swagger UI: the one of the server that is named, or on the documentation site, which
// works from a folder, the one that came as a script.
"use strict";

const place = document.getElementById("reference");
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

// On the site there is no server to call.
const shown = window.openapiDocument
  ? { spec: window.openapiDocument, supportedSubmitMethods: [] }
  : { url: place.dataset.document };

window.SwaggerUIBundle({
  ...shown,
  domNode: place,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: -1,
  filter: true,
  validatorUrl: null,
});
