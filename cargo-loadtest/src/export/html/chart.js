// Reads the figures off the charts: by pointer, by the arrow keys, and without what the legend switches off. Copies
// what is worth it, and marks the section that is read. The page is complete without it.
'use strict';

// The times that are read off, and the series that are switched off, by chart: a drawing that takes the place of
// another one goes on with them.
const readAt = new Map();
const switchedOff = new Set();

// All charts of a scenario that have the same axis move together.
function connect(charts, at) {
  let held = -1;
  const show = (i) => {
    if (i < 0 && !charts[0].plot.isConnected) return;
    held = i;
    for (const chart of charts) {
      chart.show(i, at[i]);
      readAt.set(chart.key, at[i]);
    }
  };
  const before = at.indexOf(readAt.get(charts[0].key));
  if (before >= 0) show(before);
  for (const chart of charts) {
    const { plot } = chart;
    plot.addEventListener('pointermove', (event) => show(chart.nearest(event.clientX)));
    plot.addEventListener('pointerdown', (event) => show(chart.nearest(event.clientX)));
    plot.addEventListener('pointerleave', () => show(-1));
    plot.addEventListener('blur', () => show(-1));
    plot.addEventListener('keydown', (event) => {
      const last = at.length - 1;
      const from = held < 0 ? last + 1 : held;
      const to = {
        ArrowLeft: from - 1, ArrowDown: from - 1, ArrowRight: held + 1, ArrowUp: held + 1,
        PageDown: from - 10, PageUp: held + 10, Home: 0, End: last, Escape: -1,
      }[event.key];
      if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      show(event.key === 'Escape' ? -1 : Math.min(Math.max(to, 0), last));
    });
  }
}

function chartOf(figure, points) {
  const plot = figure.querySelector('.plot');
  const key = `${figure.closest('[id]')?.id} ${figure.querySelector('figcaption').textContent}`;
  const svg = plot.querySelector('svg');
  const from = Number(figure.dataset.from);
  const step = (Number(figure.dataset.to) - from) / Math.max(points - 1, 1);
  const groups = svg.querySelectorAll('g');
  const numbers = (line) => line.getAttribute('points').split(' ').map((pair) => pair.split(',').map(Number));
  const levels = [...svg.querySelectorAll('.l-grid')].map((line) => numbers(line)[0][1]);

  const drawn = (name, attributes) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    svg.append(element);
    return element;
  };
  const cross = drawn('line', { class: 'cross', y1: Math.min(...levels), y2: Math.max(...levels), visibility: 'hidden' });

  const series = [...figure.querySelectorAll('.legend li')].map((entry, i) => {
    const heights = [];
    for (const line of groups[i].querySelectorAll('polyline')) {
      for (const [x, y] of numbers(line)) {
        const at = (x - from) / step;
        // The corners of a step lie between two points.
        if (Math.abs(at - Math.round(at)) < 0.25) heights[Math.round(at)] ??= y;
      }
    }
    const line = groups[i].querySelector('polyline');
    const role = (line?.getAttribute('class') ?? 'l-muted').replace('l-', 'f-');
    const dot = drawn('circle', { class: `dot ${role}`, r: 3.2, visibility: 'hidden' });
    return { entry, group: groups[i], name: entry.textContent, words: entry.dataset.words.split('|'), heights, dot, on: true };
  });

  const readout = document.createElement('div');
  readout.className = 'readout';
  readout.hidden = true;
  plot.append(readout);
  plot.tabIndex = 0;
  const say = (attributes) => {
    for (const key in attributes) plot.setAttribute(key, attributes[key]);
  };
  say({ role: 'slider', 'aria-label': svg.getAttribute('aria-label'), 'aria-valuemin': 0, 'aria-valuemax': points - 1 });

  let shown = [-1, ''];
  const show = (i, when) => {
    shown = [i, when];
    const x = from + step * i;
    const seen = series.filter((one) => one.on && one.words[i]);
    cross.setAttribute('visibility', i < 0 ? 'hidden' : 'visible');
    if (i >= 0) {
      cross.setAttribute('x1', x);
      cross.setAttribute('x2', x);
    }
    for (const one of series) {
      const visible = seen.includes(one) && one.heights[i] !== undefined;
      one.dot.setAttribute('visibility', visible ? 'visible' : 'hidden');
      if (visible) {
        one.dot.setAttribute('cx', x);
        one.dot.setAttribute('cy', one.heights[i]);
      }
    }
    readout.hidden = i < 0;
    readout.replaceChildren();
    if (i < 0) {
      say({ 'aria-valuenow': 0, 'aria-valuetext': 'nothing read off' });
      return;
    }
    const part = (name, text, className = '') => {
      const element = document.createElement(name);
      element.textContent = text;
      element.className = className;
      readout.append(element);
    };
    part('strong', when);
    for (const one of seen) {
      part('span', one.name, one.entry.className);
      part('b', one.words[i]);
    }
    const share = x / svg.viewBox.baseVal.width;
    readout.style.left = share < 0.5 ? `calc(${100 * share}% + 10px)` : 'auto';
    readout.style.right = share < 0.5 ? 'auto' : `calc(${100 * (1 - share)}% + 10px)`;
    const words = seen.map((one) => `${one.name} ${one.words[i]}`);
    say({ 'aria-valuenow': i, 'aria-valuetext': `${when}: ${words.join(', ')}` });
  };
  show(-1);

  const turn = (one, on) => {
    one.on = on;
    one.button.setAttribute('aria-pressed', String(on));
    one.group.setAttribute('visibility', on ? 'visible' : 'hidden');
    switchedOff[on ? 'delete' : 'add'](`${key} ${one.name}`);
  };
  // Of one series there is nothing to choose.
  for (const one of series.length > 1 ? series : []) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = one.name;
    one.button = button;
    turn(one, !switchedOff.has(`${key} ${one.name}`));
    button.addEventListener('click', () => {
      turn(one, !one.on);
      show(...shown);
    });
    one.entry.replaceChildren(button);
  }

  const nearest = (clientX) => {
    const { left, width } = svg.getBoundingClientRect();
    const x = (clientX - left) * svg.viewBox.baseVal.width / width;
    return Math.min(Math.max(Math.round((x - from) / step), 0), points - 1);
  };
  return { plot, key, show, nearest };
}

// Connects the charts below a node, but those that are connected already.
function connectCharts(root) {
  const axes = new Map();
  for (const figure of root.querySelectorAll('figure[data-from]:not(:has(.readout))')) {
    const scenario = figure.closest('article') ?? root;
    if (!axes.has(scenario)) axes.set(scenario, new Map());
    const words = figure.dataset.at;
    const same = axes.get(scenario);
    same.set(words, [...(same.get(words) ?? []), figure]);
  }
  for (const [words, figures] of [...axes.values()].flatMap((same) => [...same])) {
    const at = words.split('|');
    connect(figures.map((figure) => chartOf(figure, at.length)), at);
  }
}

// Puts a button behind every command, and behind what has a text to copy.
function offerCopies(root) {
  const copied = async (button, text) => {
    try {
      await navigator.clipboard.writeText(text);
      button.dataset.done = '';
    } catch {
      getSelection().selectAllChildren(button.parentNode);
    }
    setTimeout(() => delete button.dataset.done, 1500);
  };
  for (const element of root.querySelectorAll('[data-copy], code')) {
    const text = element.dataset.copy ?? element.textContent;
    if (element.matches('code') && !text.startsWith('cargo ')) continue;
    if (element.querySelector('.copy') || element.nextSibling?.className === 'copy') continue;
    const button = document.createElement('button');
    Object.assign(button, { type: 'button', className: 'copy', title: 'Copy' });
    button.setAttribute('aria-label', `Copy ${text}`);
    button.addEventListener('click', () => copied(button, text));
    if (element.matches('dd')) element.append(' ', button);
    else element.after(button);
  }
}

// Marks the section that is read in the list at its side.
function followSections(list) {
  const links = new Map([...list.querySelectorAll('a')].map((link) => [document.getElementById(link.hash.slice(1)), link]));
  const follow = (entries) => {
    for (const { target, isIntersecting } of entries) links.get(target).toggleAttribute('aria-current', isIntersecting);
  };
  // A line below the upper edge of the window.
  const observer = new IntersectionObserver(follow, { rootMargin: '-12% 0px -88%' });
  for (const section of links.keys()) observer.observe(section);
}

connectCharts(document);
document.querySelectorAll('.contents').forEach(followSections);
offerCopies(document);
