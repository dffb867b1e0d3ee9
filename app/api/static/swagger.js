// Operations stand in the order in which a newcomer runs them; the document numbers them.
const step = (operation) => operation.getIn(["operation", "x-step"]);

// A link to one operation shows all, since that may be any of them.
const all = new URLSearchParams(location.search).has("all") || location.hash.length > 1;

const essentials = (paths) =>
  Object.fromEntries(
    Object.entries(paths)
      .map(([path, operations]) => [
        path,
        Object.fromEntries(Object.entries(operations).filter(([, operation]) => operation["x-essential"])),
      ])
      .filter(([, operations]) => Object.keys(operations).length),
  );

const used = (paths) =>
  new Set(Object.values(paths).flatMap((path) => Object.values(path).flatMap((operation) => operation.tags)));

const number = (paths) => Object.values(paths).reduce((sum, path) => sum + Object.keys(path).length, 0);

const show = (spec) => {
  const few = essentials(spec.paths);
  const sections = used(few);
  const nav = document.getElementById("extent");
  nav.querySelector("[data-extent=few]").textContent = `Essentials (${number(few)})`;
  nav.querySelector("[data-extent=all]").textContent = `All operations (${number(spec.paths)})`;
  nav.querySelector(`[data-extent=${all ? "all" : "few"}]`).setAttribute("aria-current", "page");
  nav.hidden = false;
  SwaggerUIBundle({
    spec: all ? spec : { ...spec, paths: few, tags: spec.tags.filter((tag) => sections.has(tag.name)) },
    dom_id: "#swagger-ui",
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    deepLinking: true,
    docExpansion: all ? "none" : "list",
    filter: all,
    defaultModelsExpandDepth: -1,
    displayRequestDuration: true,
    persistAuthorization: false,
    tryItOutEnabled: true,
    validatorUrl: null,
    operationsSorter: (a, b) => step(a) - step(b),
  });
};

fetch("/openapi.json")
  .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(`status ${answer.status}`))))
  .then(show)
  .catch((error) => {
    document.getElementById("swagger-ui").textContent = `The description of the API could not be loaded: ${error.message}. Load the page again.`;
  });
