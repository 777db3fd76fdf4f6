// When a page comes again, after a save, a removal or a check, the focus goes back to its place, or to what took it.
(() => {
  "use strict";
  const all = (selector) => [...document.querySelectorAll(selector)];
  const page = () => document.querySelector("#edit [name=scenario]")?.value ?? location.pathname;
  const cards = () => all("#edit fieldset");
  const sign = (one) => [one.tagName, one.form?.getAttribute("action"), one.name, one.matches("a,button,summary") && one.textContent].join();
  const alike = (kind) => all("main a, main button, main input, main select, main textarea, main summary").filter((one) => sign(one) === kind);

  addEventListener("pagehide", () => {
    // From a difference the way leads back to the form, or to another page.
    if (document.querySelector(".diff")) return;
    const one = document.activeElement;
    const card = cards().findIndex((card) => card.contains(one));
    const place = { page: page(), card, id: cards()[card]?.id, kind: sign(one), at: alike(sign(one)).indexOf(one) };
    sessionStorage.setItem("place", JSON.stringify(place));
  });

  const place = JSON.parse(sessionStorage.getItem("place"));
  if (place?.page !== page() || document.querySelector("[autofocus]")) return;
  const fresh = all(".field.new").at(-1)?.querySelector("input:not([type=hidden]),select,textarea");
  const card = document.getElementById(place.id) ?? cards()[Math.min(place.card, cards().length - 1)];
  const found = place.card < 0 ? alike(place.kind) : [];
  const next = fresh ?? (place.card < 0 ? found[Math.min(place.at, found.length - 1)] : card);
  if (next?.matches("fieldset")) next.tabIndex = -1;
  next?.focus();
})();
