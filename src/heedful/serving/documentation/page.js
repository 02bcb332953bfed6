// The API's description, drawn from openapi.json, with a form that sends a request.
// Elements are made one by one and text is only ever text: nothing from outside becomes markup.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function resolve(schema, document_) {
  const name = schema.$ref?.split("/").at(-1);
  return name ? document_.components.schemas[name] : schema;
}

// "string", "a list of string", "integer from 1 to 16": what a field takes, in words.
function typeInWords(schema, document_) {
  const whole = resolve(schema, document_);
  if (whole.anyOf) return whole.anyOf.map((one) => typeInWords(one, document_)).join(" or ");
  if (whole.type === "array") return `a list of ${typeInWords(whole.items ?? {}, document_)}`;
  if (whole.const !== undefined) return JSON.stringify(whole.const);
  if (whole.enum) return whole.enum.map((value) => JSON.stringify(value)).join(" or ");
  const from = whole.minimum === undefined ? "" : ` from ${whole.minimum}`;
  const to = whole.maximum === undefined ? "" : ` to ${whole.maximum}`;
  return `${whole.type ?? whole.title ?? "anything"}${from}${to}`;
}

function fieldsTable(schema, document_) {
  const whole = resolve(schema, document_);
  const rows = Object.entries(whole.properties ?? {}).map(([name, field]) => {
    const required = whole.required?.includes(name);
    const fallback = field.default === undefined || field.default === null ? "" : JSON.stringify(field.default);
    return element(
      "tr",
      {},
      element("td", {}, element("code", {}, name), required ? " *" : ""),
      element("td", {}, typeInWords(field, document_)),
      element("td", {}, element("code", {}, fallback)),
      element("td", {}, field.description ?? ""),
    );
  });
  const heads = ["field", "type", "default", "meaning"].map((head) => element("th", { scope: "col" }, head));
  return element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
}

function exampleOf(schema, document_) {
  const whole = resolve(schema, document_);
  const samples = { q: "Where is the station?", source: "auto", target: "de", s: "Wo ist der Bahnhof?" };
  const names = Object.keys(whole.properties ?? {}).filter((name) => name in samples);
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, samples[name]])), null, 2);
}

function tryForm(path, method, schema, document_) {
  const input = schema && element("textarea", { rows: "6", "aria-label": "Body of the request", spellcheck: "false" });
  if (input) input.value = exampleOf(schema, document_);
  const output = element("pre", { "aria-live": "polite" });
  const button = element("button", { type: "submit" }, "Send");
  const form = element("form", {}, ...(input ? [input] : []), button, output);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    output.textContent = "…";
    const options = input ? { body: input.value, headers: { "Content-Type": "application/json" } } : {};
    try {
      const answer = await fetch(path, { method, ...options });
      output.textContent = `${answer.status}\n${await answer.text()}`;
    } catch (failure) {
      output.textContent = String(failure);
    }
  });
  return form;
}

function routeSection(path, method, route, document_) {
  const schema = route.requestBody?.content["application/json"]?.schema;
  const answers = Object.entries(route.responses).map(([status, answer]) =>
    element("li", {}, element("code", {}, status), ` ${answer.description}`),
  );
  return element(
    "section",
    {},
    element("h2", {}, element("code", {}, `${method.toUpperCase()} ${path}`)),
    ...(route.description ?? "").split("\n\n").map((paragraph) => element("p", {}, paragraph)),
    ...(schema ? [fieldsTable(schema, document_)] : []),
    element("details", {}, element("summary", {}, "Answers"), element("ul", {}, ...answers)),
    element("details", {}, element("summary", {}, "Try it"), tryForm(path, method.toUpperCase(), schema, document_)),
  );
}

const description = await (await fetch("/openapi.json")).json();
document.getElementById("title").textContent = `${description.info.title} ${description.info.version}`;
document.getElementById("about").textContent = description.info.description;
document.getElementById("routes").append(
  ...Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, route]) => routeSection(path, method, route, description)),
  ),
);
