// Operations stand in the order in which a newcomer runs them; the document numbers them.
const step = (operation) => operation.getIn(["operation", "x-step"]);

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: false,
  tryItOutEnabled: true,
  validatorUrl: null,
  operationsSorter: (a, b) => step(a) - step(b),
});
