// Keys: one table, which also makes the dialog that lists them. Every key presses what can be clicked as well.
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const say = (text) => { document.getElementById("status").textContent = text; };
  const dialog = document.createElement("dialog");

  // Lines of a list, by what opens each.
  const lines = () => all("table.list tbody tr, .exchange").filter((one) => one.checkVisibility())
    .map((one) => one.querySelector("a,summary")).filter(Boolean);
  const line = () => document.activeElement.closest("tbody tr, .exchange");
  const goToLine = (by) => {
    const places = lines();
    const at = places.findIndex((one) => line()?.contains(one));
    places[Math.min(Math.max(at < 0 ? 0 : at + by, 0), places.length - 1)]?.focus();
  };

  // The control of a key: that of the line with the focus, else that of the page.
  const control = (selector) => line()?.querySelector(selector) ?? all(selector).find((one) => !one.closest("tbody"));
  const use = (one) => {
    if (!one?.matches("button,a,[type=checkbox]")) one?.focus();
    if (one?.matches("button,a,summary,[type=checkbox]")) one.click();
  };

  // Fields with a mistake, in the order of the page.
  const mistakes = () => [...new Set(all("main .has-error, main [aria-invalid=true]").map((one) =>
    one.matches("input,select,textarea") ? one : one.querySelector("input:not([type=hidden]),select,textarea")))].filter(Boolean);
  const goToMistake = (by) => {
    const places = mistakes();
    const at = places.indexOf(document.activeElement);
    places.at(at < 0 && by > 0 ? 0 : (Math.max(at, 0) + by) % places.length).focus();
  };

  // Steps of the form: the buttons of each say where it can go.
  const steps = () => all("#edit fieldset:has(button[name=duplicate])");
  const moveStep = (by) => {
    const cards = steps();
    const at = cards.findIndex((one) => one.contains(document.activeElement));
    if (at < 0) { say("No step has the focus."); return; }
    const way = by < 0 ? "up" : "down";
    const button = cards[at].querySelector(`[data-move=${way}]`);
    if (button && !button.disabled) button.click();
    else say(button?.title ?? `${cards[at].id.replace("step-", "")} cannot go further ${way}.`);
  };

  const duplicateStep = () => {
    const card = steps().find((one) => one.contains(document.activeElement));
    if (card) card.querySelector("button[name=duplicate]").click();
    else say("No step has the focus.");
  };

  // The scenarios of a run under way.
  const scenarios = () => all("#live-head nav a");
  const goToScenario = (by) => {
    const places = scenarios();
    const at = places.findIndex((one) => one.hasAttribute("aria-current"));
    places[(at + by + places.length) % places.length].click();
  };

  const press = (selector) => [() => all(selector).length, () => use(control(selector))];
  const keyed = (key) => press(`[data-key="${key}"]`);
  // Key, meaning, what a page needs for it, what it does.
  const table = [
    ["?", "show these keys", () => true, () => show()],
    ["/", "go to the filter", ...press("[data-filter],[data-search]")],
    ["j", "next line", () => lines().length, () => goToLine(1)],
    ["k", "line before", () => lines().length, () => goToLine(-1)],
    ["Enter", "open the line", () => lines().length],
    ["x", "select the line", ...press("tbody [type=checkbox]")],
    ["r", "run", ...keyed("r")],
    ["t", "try one journey", ...keyed("t")],
    ["n", "new test", ...keyed("n")],
    ["e", "edit, or export", ...keyed("e")],
    ["c", "compare", ...keyed("c")],
    ["b", "save as baseline", ...keyed("b")],
    ["[", "previous scenario", () => scenarios().length, () => goToScenario(-1)],
    ["]", "next scenario", () => scenarios().length, () => goToScenario(1)],
    ["a", "go to the new step", ...press("#new-step:enabled [name='new.name']")],
    ["d", "duplicate the step", () => steps().length, duplicateStep],
    ["p", "pause or resume the view", ...keyed("p")],
    [".", "stop the run", ...keyed(".")],
    ["Ctrl s", "show the changes, and then save them", ...keyed("Ctrl s")],
    ["Ctrl Enter", "read, or try once", ...keyed("Ctrl Enter")],
    ["F8", "next mistake", () => mistakes().length, () => goToMistake(1)],
    ["Shift F8", "previous mistake", () => mistakes().length, () => goToMistake(-1)],
    ["Alt ArrowUp", "move the step up", () => steps().length, () => moveStep(-1)],
    ["Alt ArrowDown", "move the step down", () => steps().length, () => moveStep(1)],
  ];

  const areLettersOn = () => localStorage.getItem("letters") !== "off";
  const make = (name, attributes, ...children) => {
    const one = Object.assign(document.createElement(name), attributes);
    one.append(...children);
    return one;
  };
  const names = { "Ctrl": /Mac/.test(navigator.platform) ? "⌘" : "Ctrl", "ArrowUp": "↑", "ArrowDown": "↓" };
  const show = () => {
    const row = (key, meaning) => {
      const caps = key.split(" ").flatMap((one) => [make("kbd", {}, key[0] !== "g" && names[one] || one), " "]);
      return make("div", {}, make("dt", {}, ...caps), make("dd", {}, meaning));
    };
    const rows = table.filter(([, , isThere]) => isThere()).map(([key, meaning]) => row(key, meaning));
    rows.push(...all(".frame a[data-go]").map((one) => row(`g ${one.dataset.go}`, one.textContent)), row("Esc", "close this"));
    const off = areLettersOn() ? [] : [make("p", {}, "Single letters and signs are switched off in the settings.")];
    const close = make("form", { method: "dialog" }, make("button", {}, "Close"));
    dialog.replaceChildren(make("h2", { id: "keys-title" }, "Keys"), close, ...off, make("dl", { className: "facts" }, ...rows));
    dialog.showModal();
  };
  dialog.id = "keys";
  dialog.setAttribute("aria-labelledby", "keys-title");
  document.body.append(dialog);
  for (const one of all("[data-keys]")) { one.hidden = false; one.addEventListener("click", show); }
  for (const one of all("[data-letters]")) {
    one.hidden = false;
    const box = one.querySelector("input");
    box.checked = areLettersOn();
    box.addEventListener("change", () => localStorage.setItem("letters", box.checked ? "on" : "off"));
  }

  // Single letters and signs are for text within a field, and for nothing else within a dialog.
  let goingSince = -Infinity;
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const isSingle = key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.isComposing || document.querySelector("dialog[open]")) return;
    if (isSingle && (!areLettersOn() || target.matches("input,select,textarea"))) return;
    // By when the keys were pressed: a busy page learns of them later.
    const isGoing = event.timeStamp - goingSince < 1500;
    if (isGoing || (isSingle && key === "g")) {
      const page = isGoing && isSingle ? document.querySelector(`.frame a[data-go="${CSS.escape(key)}"]`) : null;
      goingSince = isGoing || event.repeat ? -Infinity : event.timeStamp;
      page?.click();
      return;
    }
    const held = [event.ctrlKey || event.metaKey ? "Ctrl " : "", event.altKey ? "Alt " : "", event.shiftKey && key.length > 1 ? "Shift " : ""];
    const name = held.join("") + (key.length === 1 ? key.toLowerCase() : key);
    const [, , isThere, act] = table.find(([known]) => known === name) ?? [];
    if (!act || !isThere()) return;
    event.preventDefault();
    if (!event.repeat || "jk".includes(name)) act();
  });
})();
