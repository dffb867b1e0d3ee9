// Operations stand in the order in which a newcomer runs them; the document numbers them.
const step = (operation) => operation.getIn(["operation", "x-step"]);

// A link to one operation shows all, since that may be any of them.
const all = new URLSearchParams(location.search).has("all") || location.hash.length > 1;

const json = (address) =>
  fetch(address).then((answer) =>
    answer.ok ? answer.json() : Promise.reject(new Error(`status ${answer.status}`)),
  );

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

// The document with one operation alone, and of its components those that it refers to.
const only = (document, address, method) => {
  const paths = { [address]: { [method]: document.paths[address][method] } };
  const components = {};
  const follow = (node) => {
    if (typeof node === "string") {
      const [, kind, name] = node.match(/^#\/components\/(\w+)\/([\w.-]+)$/) || [];
      if (name && !components[kind]?.[name]) {
        components[kind] = { ...components[kind], [name]: document.components[kind][name] };
        follow(components[kind][name]);
      }
    } else if (node && typeof node === "object") {
      Object.values(node).forEach(follow);
    }
  };
  follow(paths);
  return { ...document, paths, components };
};

// What a section's operations take and answer is loaded when the first of them is unfolded, and stays until the
// first of another one is: what was unfolded before is kept by Swagger UI itself.
let section = null;
let documentOfSection = null;
const documentOf = (tag) => {
  if (tag !== section) {
    section = tag;
    documentOfSection = json(`/docs/groups/${encodeURIComponent(tag)}.json`).catch((error) => {
      section = null;
      throw error;
    });
  }
  return documentOfSection;
};

// The statuses that an unfolded operation documents, by its method and address.
const statuses = {};

const loadedWhenUnfolded = {
  afterLoad() {
    const { resolveSubtree } = this.fn;
    this.fn.resolveSubtree = async (spec, path, options) => {
      const [part, address, method] = path;
      const listed = part === "paths" && spec.paths[address]?.[method];
      if (!listed) {
        return resolveSubtree(spec, path, options);
      }
      const own = only(await documentOf(listed.tags[0]), address, method);
      statuses[`${method} ${address}`] = Object.keys(own.paths[address][method].responses);
      return resolveSubtree(own, path, options);
    };
  },
};

// Before an operation is loaded there is nothing that could be sent.
const sentOnceLoaded = (system) => ({
  wrapComponents: {
    execute: (Whole) => (props) =>
      props.specSelectors.specResolvedSubtree(["paths", props.path, props.method])
        ? system.React.createElement(Whole, props)
        : null,
  },
});

// Of the answers that an operation documents, the one that a newcomer hopes for is shown whole.
const HOPED_FOR = ["201", "202", "200", "204"];

// Each example of an answer costs height and memory, and of the problems all look alike: a line each, until asked.
const foldedAnswers = (system) => ({
  wrapComponents: {
    response: (Whole) => (props) => {
      const { createElement, useState } = system.React;
      const [open, setOpen] = useState(false);
      const { path, method, code, response, className, getComponent } = props;
      const documented = statuses[`${method} ${path}`] || [];
      if (open || !response.has("content") || code === HOPED_FOR.find((hoped) => documented.includes(hoped))) {
        return createElement(Whole, props);
      }
      const text = createElement(getComponent("Markdown", true), { source: response.get("description") });
      const label = `Example of ${code}`;
      const ask = { type: "button", className: "example-of-answer", "aria-label": label, onClick: () => setOpen(true) };
      return createElement(
        "tr",
        { className: `response folded ${className || ""}`, "data-code": code },
        createElement("td", { className: "response-col_status" }, code),
        createElement("td", { className: "response-col_description" }, text, createElement("button", ask, "Example")),
      );
    },
  },
});

// Examples of one name belong together: an upload's example is sent under the name that the journey gives it.
const examplesTogether = () => ({
  statePlugins: {
    oas3: {
      wrapActions: {
        setActiveExamplesMember: (set, system) => (chosen) => {
          const { name, pathMethod, contextType } = chosen;
          // Swagger UI tells the body's example again whenever anything else of the operation changes.
          const before = system.oas3Selectors.activeExamplesMember(...pathMethod, "requestBody", "requestBody");
          if (contextType === "requestBody" && name !== before) {
            for (const parameter of system.specSelectors.specResolvedSubtree(["paths", ...pathMethod, "parameters"])) {
              const value = parameter.getIn(["examples", name, "value"]);
              if (value !== undefined) {
                const contextName = `${parameter.get("name")}-${parameter.get("in")}`;
                system.specActions.changeParamByIdentity(pathMethod, parameter, value);
                set({ name, pathMethod, contextType: "parameters", contextName });
              }
            }
          }
          return set(chosen);
        },
      },
    },
  },
});

const show = (list) => {
  const few = essentials(list.paths);
  const sections = used(few);
  const nav = document.getElementById("extent");
  nav.querySelector("[data-extent=few]").textContent = `Essentials (${number(few)})`;
  nav.querySelector("[data-extent=all]").textContent = `All operations (${number(list.paths)})`;
  nav.querySelector(`[data-extent=${all ? "all" : "few"}]`).setAttribute("aria-current", "page");
  nav.hidden = false;
  SwaggerUIBundle({
    spec: all ? list : { ...list, paths: few, tags: list.tags.filter((tag) => sections.has(tag.name)) },
    dom_id: "#swagger-ui",
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [loadedWhenUnfolded, sentOnceLoaded, foldedAnswers, examplesTogether],
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

json("/docs/operations.json")
  .then(show)
  .catch((error) => {
    document.getElementById("swagger-ui").textContent = `The description of the API could not be loaded: ${error.message}. Load the page again.`;
  });
