// The shop in a browser. What is shown is in the address: `#/orders/7` shows what the API answers at `/orders/7`.

const main = document.querySelector("main");
const money = new Intl.NumberFormat("en", { style: "currency", currency: "EUR" });
const count = new Intl.NumberFormat("en");

// How many items a full page has, and how long to wait before an order is looked at again.
const FULL = 10;
const AGAIN = 500;

// What products are called: an order has their numbers only.
const names = new Map();

// Ends what the view before has not finished yet.
let view = new AbortController();

const session = {
  get token() {
    return sessionStorage.getItem("token");
  },
  begin(token) {
    sessionStorage.setItem("token", token);
  },
  end() {
    sessionStorage.removeItem("token");
  },
};

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function call(path, { body, signal } = {}) {
  const headers = { accept: "application/json" };
  if (session.token) headers.authorization = `Bearer ${session.token}`;
  if (body) headers["content-type"] = "application/json";
  const method = body ? "POST" : "GET";
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body), signal }).catch((error) => {
    throw error.name === "AbortError" ? error : new Refused(0, "the shop does not answer");
  });
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, content.error ?? `The shop answered with ${answer.status}.`);
  return { content, headers: answer.headers };
}

// A copy of a template with these texts in it.
function filled(name, fields = {}) {
  const copy = document.getElementById(name).content.cloneNode(true);
  for (const place of copy.querySelectorAll("[data-field]")) place.textContent = fields[place.dataset.field];
  return copy;
}

function show(title, content) {
  main.replaceChildren(content);
  document.title = `${title} · Tea shop`;
  main.querySelector("h1").focus();
  scrollTo(0, 0);
}

// Does what a form is for, and says beside its button if that did not work.
function onSubmit(form, work) {
  const error = form.querySelector(".error");
  const button = form.querySelector("button");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    error.hidden = true;
    button.disabled = true;
    try {
      await work(new FormData(form));
    } catch (refused) {
      if (refused.status === 401 && session.token) return logIn(refused);
      error.textContent = sentence(refused.message);
      error.hidden = false;
    } finally {
      button.disabled = false;
    }
  });
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1).replace(/\.?$/, ".");
}

function login(refused) {
  const content = filled("login");
  const form = content.querySelector("form");
  onSubmit(form, async (fields) => {
    const body = { user: fields.get("user"), password: fields.get("password") };
    const { content } = await call("/login", { body });
    session.begin(content.token);
    go(wanted() === "/login" ? "/products" : wanted());
  });
  show("Log in", content);
  if (refused) {
    const error = form.querySelector(".error");
    error.textContent = sentence(refused);
    error.hidden = false;
  }
  form.elements.user.focus();
}

// Shows the form in the place of what needs a login; after it, that is shown.
function logIn(refused) {
  const had = session.token;
  session.end();
  update();
  login(had ? "You are no longer logged in." : refused?.status === 401 ? "Log in first." : undefined);
}

async function products(path, signal) {
  const { content } = await call(path, { signal });
  const items = content.items.map((product) => {
    names.set(product.id, product.name);
    return linked(filled("products-item", describe(product)), `#/products/${product.id}`);
  });
  list("products", "Products", items, content.page);
}

function describe({ name, price_cents, stock }) {
  const left = stock === 0 ? "Sold out" : stock === 1 ? "Only one left" : `${count.format(stock)} in stock`;
  return { name, price: money.format(price_cents / 100), stock: left };
}

async function product(path, signal) {
  const { content: product } = await call(path, { signal });
  names.set(product.id, product.name);
  const content = filled("product", describe(product));
  const button = content.querySelector("button");
  button.disabled = product.stock === 0;
  onSubmit(content.querySelector("form"), async (fields) => {
    const body = { product: product.id, quantity: Number(fields.get("quantity")) };
    const { headers } = await call("/orders", { body });
    go(headers.get("location"));
  });
  show(product.name, content);
}

async function orders(path, signal) {
  const { content } = await call(path, { signal });
  const items = [];
  for (const order of content.items) {
    items.push(linked(filled("orders-item", await summary(order, signal)), `#/orders/${order.id}`));
  }
  list("orders", "Orders", items, content.page);
}

async function summary(order, signal) {
  if (!names.has(order.product)) {
    const { content } = await call(`/products/${order.product}`, { signal });
    names.set(order.product, content.name);
  }
  return {
    title: `Order ${order.id}`,
    what: `${order.quantity} × ${names.get(order.product)}`,
    total: money.format(order.total_cents / 100),
    status: order.status,
  };
}

// Looks at an order until it is packed.
async function order(path, signal) {
  let { content: order } = await call(path, { signal });
  const content = filled("order", await summary(order, signal));
  const status = content.querySelector(".status");
  status.dataset.status = order.status;
  show(`Order ${order.id}`, content);
  while (order.status === "placed") {
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
    if (signal.aborted) return;
    ({ content: order } = await call(path, { signal }));
    status.textContent = status.dataset.status = order.status;
  }
}

function linked(item, address) {
  item.querySelector("[data-link]").href = address;
  return item;
}

// Items, and the ways to the pages before and after this one.
function list(name, heading, items, page) {
  const title = page === 1 ? heading : `${heading}, page ${page}`;
  const content = filled(name, { title });
  content.querySelector("[data-items]").append(...items);
  content.querySelector("[data-empty]").hidden = items.length > 0;
  const address = (page) => (page === 1 ? `#/${name}` : `#/${name}?page=${page}`);
  const pages = content.querySelector(".pages");
  if (page > 1) pages.append(way("Previous page", "prev", address(page - 1)));
  if (items.length === FULL) pages.append(way("Next page", "next", address(page + 1)));
  show(title, content);
}

function way(text, rel, href) {
  return Object.assign(document.createElement("a"), { textContent: text, rel, href });
}

const views = [
  [/^\/login$/, () => login()],
  [/^\/products(\?page=\d+)?$/, products],
  [/^\/products\/\d+$/, product],
  [/^\/orders(\?page=\d+)?$/, orders],
  [/^\/orders\/\d+$/, order],
];

// What the address asks for.
function wanted() {
  return location.hash.slice(1) || (session.token ? "/products" : "/login");
}

function go(path) {
  if (location.hash === `#${path}`) update(), visit();
  else location.hash = path;
}

// The header as it fits who is there and what is shown.
function update() {
  for (const part of document.querySelectorAll("[data-when]")) {
    part.hidden = (part.dataset.when === "in") !== Boolean(session.token);
  }
  for (const link of document.querySelectorAll("header nav a")) {
    const isHere = `#${wanted()}`.startsWith(link.getAttribute("href"));
    isHere ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
  }
}

async function visit() {
  view.abort();
  view = new AbortController();
  const { signal } = view;
  update();
  const path = wanted();
  const [, shown] = views.find(([pattern]) => pattern.test(path)) ?? [];
  try {
    if (!shown) throw new Refused(404, "there is nothing here");
    await shown(path, signal);
  } catch (error) {
    if (signal.aborted) return;
    if (error.status === 401) return logIn(error);
    show("That did not work", filled("failure", { message: sentence(error.message) }));
  }
}

document.getElementById("leave").addEventListener("click", () => {
  session.end();
  go("/login");
});
addEventListener("hashchange", visit);
visit();
