// Keeps a page up to date and filters lists. Pages can be read without it.
(() => {
  "use strict";
  const policy = window.trustedTypes?.createPolicy("loadtest", { createHTML: (html) => html });
  const parse = (html) => new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html").body;
  const say = (text) => { document.getElementById("status").textContent = text; };

  // A notice is shown once, so its name leaves the address.
  const here = new URL(location.href);
  if (here.searchParams.has("notice")) { here.searchParams.delete("notice"); history.replaceState(null, "", here); }

  // Times are those of the reader, with UTC behind them.
  const localise = (root) => {
    for (const one of root.querySelectorAll("time:not([title])")) {
      const at = new Date(one.dateTime);
      if (isNaN(at)) continue;
      one.title = one.textContent;
      one.textContent = at.toLocaleString("sv").slice(0, 16);
    }
  };
  localise(document);

  // Places in source lead to the editor that this browser has chosen.
  const editor = ["vscode", "zed", "idea"].find((one) => one === localStorage.getItem("editor"));
  for (const one of editor ? document.querySelectorAll("[data-path]") : []) {
    const { path, line } = one.dataset;
    const parts = path.replaceAll("\\", "/").replace(/^(?!\/)/, "/").split("/").map(encodeURIComponent);
    const link = document.createElement("a");
    link.href = editor === "idea" ? `idea://open?file=${encodeURIComponent(path)}&line=${line}` : `${editor}://file${parts.join("/")}:${line}`;
    link.append(...one.childNodes);
    one.append(link);
  }
  const editors = document.querySelector("[data-editor]");
  if (editors) {
    editors.value = editor ?? "";
    editors.addEventListener("change", () => localStorage.setItem("editor", editors.value));
  }

  // Parts of the page. While the tab is hidden nothing is sent: a browser has six connections for all tabs.
  let source = null;
  let paused = false;
  const waiting = new Map();
  const isInUse = (part) => {
    const selection = getSelection();
    const active = document.activeElement;
    // A button that is replaced while it is pressed is not clicked on.
    return part.matches(":active")
      || (part.contains(active) && active.matches("input,select,textarea"))
      || (selection.rangeCount > 0 && !selection.isCollapsed && part.contains(selection.anchorNode));
  };
  const replace = (id, html) => {
    const part = document.getElementById(id);
    if (!part) return;
    if (paused || isInUse(part)) { waiting.set(id, html); return; }
    waiting.delete(id);
    const fresh = parse(html).firstElementChild;
    if (!fresh) return;
    const focus = part.contains(document.activeElement) ? path(part, document.activeElement) : null;
    const open = [...part.querySelectorAll("details")].map((one) => one.open);
    const scrolled = [...part.querySelectorAll(".scroll,.log")].map((one) => [one.scrollLeft, one.scrollTop]);
    part.replaceWith(document.adoptNode(fresh));
    connectCharts(fresh);
    offerCopies(fresh);
    localise(fresh);
    fresh.querySelectorAll("details").forEach((one, at) => { if (at < open.length) one.open = open[at]; });
    fresh.querySelectorAll(".scroll,.log").forEach((one, at) => {
      if (at < scrolled.length) [one.scrollLeft, one.scrollTop] = scrolled[at];
    });
    if (focus) find(fresh, focus)?.focus({ preventScroll: true });
    // What happens in a run is spoken, its figures are not.
    if (id === "live-log") tell([...fresh.querySelectorAll("li")].map((line) => line.textContent));
  };
  const told = new Set();
  const tell = (lines) => {
    const news = lines.filter((line) => !told.has(line));
    news.forEach((line) => told.add(line));
    if (news.length) say(news.join("; "));
  };
  const path = (root, element) => {
    const steps = [];
    for (let one = element; one !== root; one = one.parentElement) steps.unshift([...one.parentElement.children].indexOf(one));
    return steps;
  };
  const find = (root, steps) => steps.reduce((one, at) => one?.children[at], root);
  const offline = (is) => {
    let line = document.getElementById("offline");
    if (!is) { line?.remove(); return; }
    if (line) return;
    line = document.createElement("p");
    line.id = "offline";
    line.className = "notice t-bad";
    line.textContent = "The dashboard has ended: run cargo loadtest ui. This page tries again by itself.";
    document.getElementById("main").prepend(line);
  };
  // Not while somebody types or reads the keys, nor where it would lose edits.
  let isOutdated = false;
  let isTyping = false;
  let isEntered = false;
  let isDirty = false;
  document.addEventListener("input", (event) => {
    isTyping = true;
    isEntered ||= event.target.form?.method === "post";
  });
  document.addEventListener("focusout", () => { isTyping = false; });
  // To load the page again would call off the way to another one, which a busy server answers late. A link to an editor
  // begins like one, and ends here.
  let leaving = -Infinity;
  addEventListener("beforeunload", () => { leaving = performance.now(); });
  // A form is on its way from its button on, and the page begins to leave only after that.
  addEventListener("submit", (event) => { if (!event.defaultPrevented) leaving = performance.now(); });
  const reload = () => {
    const isLeaving = performance.now() - leaving < 30000;
    if (isOutdated && !isLeaving && !isTyping && !isEntered && !isDirty && !document.querySelector("dialog[open]")) location.reload();
  };
  const connect = () => {
    const address = document.body.dataset.stream;
    if (!address || source || isOutdated || document.hidden) return;
    source = new EventSource(address);
    source.addEventListener("open", () => offline(false));
    source.addEventListener("part", (event) => { const { id, html } = JSON.parse(event.data); replace(id, html); });
    source.addEventListener("reload", () => { disconnect(); isOutdated = true; reload(); });
    source.addEventListener("end", () => offline(true));
    source.addEventListener("error", () => {
      offline(true);
      if (source?.readyState === EventSource.CLOSED) { disconnect(); setTimeout(connect, 2000); }
    });
  };
  const disconnect = () => { source?.close(); source = null; };
  document.addEventListener("visibilitychange", () => document.hidden ? disconnect() : connect());
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", connect);
  setInterval(() => { reload(); for (const [id, html] of waiting) if (!paused) replace(id, html); }, 1000);

  // Filters.
  const filter = (input) => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = [...document.querySelectorAll(input.dataset.filter)];
    let shown = 0;
    for (const one of all) {
      const text = one.textContent.toLowerCase();
      one.hidden = !words.every((word) => text.includes(word));
      shown += one.hidden ? 0 : 1;
    }
    const told = input.form?.querySelector("[data-filtered]");
    if (told) told.textContent = `${shown} of ${all.length}`;
  };
  document.addEventListener("input", (event) => { if (event.target.dataset.filter) filter(event.target); });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.querySelector("[data-filter]")) {
      event.preventDefault();
      const input = form.querySelector("[data-filter]");
      const address = new URL(location.href);
      if (input.name) { address.searchParams.set(input.name, input.value); history.replaceState(null, "", address); }
      return;
    }
    if (form.dataset.confirm && !confirm(form.dataset.confirm)) event.preventDefault();
  });

  // Buttons that need the script.
  const pauses = [...document.querySelectorAll("[data-pause]")];
  for (const pause of document.body.dataset.stream ? pauses : []) {
    pause.hidden = false;
    pause.addEventListener("click", () => {
      paused = !paused;
      for (const one of pauses) one.textContent = paused ? "Go on" : "Pause the view";
      say(paused ? "The view is paused; the run continues." : "The view goes on.");
    });
  }

  // Edits that were not shown are not lost without a question.
  const form = document.getElementById("edit");
  form?.addEventListener("input", () => { isDirty = true; });
  form?.addEventListener("submit", () => { isDirty = false; });
  addEventListener("beforeunload", (event) => { if (isDirty) event.preventDefault(); });

  // Values of answers, put into the field whose button was pressed.
  const values = document.getElementById("values");
  let field = null;
  if (values) {
    // A step has the answers of those above it.
    const offerEarlier = (one) => {
      const own = one.closest("fieldset.step");
      const parts = [...values.querySelectorAll("[data-step]")];
      for (const part of parts) {
        const step = document.getElementById(`step-${part.dataset.step}`);
        part.hidden = own && step ? !(step.compareDocumentPosition(own) & Node.DOCUMENT_POSITION_FOLLOWING) : false;
      }
      values.querySelector("[data-none]").hidden = !parts.length || parts.some((part) => !part.hidden);
    };
    for (const one of document.querySelectorAll("[data-template]")) {
      const pick = document.createElement("button");
      pick.type = "button";
      pick.className = "pick";
      pick.textContent = "{}";
      pick.ariaLabel = "Insert a value";
      // Where the cursor is; in a field without one, at the end.
      one.addEventListener("focus", () => { pick.hasCursor = true; });
      pick.addEventListener("click", () => {
        field = one;
        if (!pick.hasCursor) one.setSelectionRange(one.value.length, one.value.length);
        offerEarlier(one);
        values.showModal();
      });
      one.closest("label").after(pick);
    }
    values.addEventListener("click", (event) => {
      const text = event.target.dataset?.insert;
      if (!text || !field) return;
      field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
      field.dispatchEvent(new Event("input", { bubbles: true }));
      // A value that the type of the answer lacks takes its field along.
      const added = event.target.dataset.field;
      // Of a step whose answer is not read, it is from now on.
      const type = document.querySelector(`#step-${CSS.escape(event.target.dataset.untyped ?? "")} input[name$=".returns"]`);
      if (type && !type.value) type.value = "Value";
      if (added) form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "field", value: added }));
      values.close();
      field.focus();
    });
  }

  // Files that are chosen or dropped are read into their field.
  const drop = document.querySelector("[data-drop]");
  if (drop) {
    // A field that shows megabytes holds the tab up, so a file goes past it.
    const readFile = async (file) => {
      if (!file) return;
      const sent = Object.assign(document.createElement("input"), { type: "hidden", name: drop.name, value: await file.text() });
      drop.disabled = true;
      drop.form.append(sent);
      drop.form.requestSubmit();
      drop.disabled = false;
      sent.remove();
    };
    const chosen = document.querySelector("[data-file]");
    chosen.hidden = false;
    chosen.addEventListener("change", () => readFile(chosen.files[0]));
    drop.addEventListener("dragover", (event) => event.preventDefault());
    drop.addEventListener("drop", (event) => {
      if (event.dataTransfer.files.length) { event.preventDefault(); readFile(event.dataTransfer.files[0]); }
    });
  }

  connect();
})();
