// A list of any length of which only what is near the window exists. Heights are guessed until an item was shown
// once; what is looked at stays where it is when a guess was wrong.
import { h } from "./dom.js";

const PAGE = 200;
const PAGES_KEPT = 6;
const MARGIN = 700;
const BUDGET_MS = 8;
const GUESS = 56;

export class WindowedList {
  /// `load(from)` brings a page of items; `render(item)` makes one; `isHidden(item)` leaves one out.
  constructor({ total, load, render, isHidden, label }) {
    Object.assign(this, { total, load, render, isHidden });
    this.node = h("div.windowed", { role: "feed", "aria-label": label, "aria-busy": "false" });
    this.heights = new Float64Array(total + 256).fill(GUESS);
    this.offsets = new Float64Array(total + 257);
    this.isStale = true;
    this.pages = new Map();
    this.loading = new Map();
    this.shown = new Map();
    this.planned = false;
    this.onScroll = () => this.plan();
    this.observer = new ResizeObserver((entries) => this.measure(entries.map((entry) => entry.target)));
    addEventListener("scroll", this.onScroll, { passive: true });
    addEventListener("resize", this.onScroll);
  }

  stop() {
    removeEventListener("scroll", this.onScroll);
    removeEventListener("resize", this.onScroll);
    this.observer.disconnect();
    this.isStopped = true;
  }

  offset(n) {
    if (this.isStale) {
      let sum = 0;
      for (let i = 0; i < this.total; i += 1) {
        this.offsets[i] = sum;
        sum += this.heights[i];
      }
      this.offsets[this.total] = sum;
      this.isStale = false;
    }
    return this.offsets[n];
  }

  /// The item at this distance from the beginning.
  at(distance) {
    let low = 0;
    let high = this.total - 1;
    this.offset(0);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.offsets[middle] <= distance) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }

  item(n) {
    const page = this.pages.get(n - (n % PAGE));
    return page && page[n % PAGE];
  }

  async ensure(n) {
    const from = n - (n % PAGE);
    if (this.pages.has(from)) return;
    if (!this.loading.has(from)) {
      this.node.setAttribute("aria-busy", "true");
      this.loading.set(
        from,
        this.load(from)
          .then((items) => {
            this.pages.set(from, items);
            this.forgetFar(from);
          })
          .finally(() => {
            this.loading.delete(from);
            if (!this.loading.size) this.node.setAttribute("aria-busy", "false");
          }),
      );
    }
    await this.loading.get(from);
  }

  forgetFar(from) {
    const far = [...this.pages.keys()].sort((a, b) => Math.abs(b - from) - Math.abs(a - from));
    for (const key of far.slice(0, Math.max(0, far.length - PAGES_KEPT))) this.pages.delete(key);
  }

  plan() {
    if (this.planned || this.isStopped) return;
    this.planned = true;
    requestAnimationFrame(() => {
      this.planned = false;
      this.sync();
    });
  }

  range() {
    const top = this.node.getBoundingClientRect().top;
    return { first: this.at(-top - MARGIN), last: this.at(-top + innerHeight + MARGIN), top };
  }

  sync() {
    if (this.isOnPaper || this.isStopped || !this.node.isConnected || !this.total) return;
    const { first, last } = this.range();
    for (const [n, node] of this.shown)
      if ((n < first || n > last) && !node.contains(document.activeElement)) this.remove(n);
    for (let from = first - (first % PAGE); from <= last; from += PAGE) {
      if (!this.pages.has(from))
        this.ensure(from).then(
          () => this.plan(),
          (error) => this.onError && this.onError(error),
        );
    }
    const began = performance.now();
    const fresh = [];
    for (const n of this.nearFirst(first, last)) {
      const item = this.item(n);
      if (!item || this.shown.has(n)) continue;
      if (this.isHidden(item)) {
        this.setHeight(n, 0);
        continue;
      }
      fresh.push(this.insert(n, item));
      if (performance.now() - began > BUDGET_MS) {
        this.plan();
        break;
      }
    }
    if (fresh.length || this.isStale) this.measure(fresh);
    this.place();
  }

  /// What is in the window comes before what is around it.
  nearFirst(first, last) {
    const middle = this.at(Math.max(0, -this.node.getBoundingClientRect().top));
    const order = [];
    for (let n = middle; n <= last; n += 1) order.push(n);
    for (let n = middle - 1; n >= first; n -= 1) order.push(n);
    return order;
  }

  insert(n, item) {
    const node = this.render(item);
    node.dataset.n = n;
    node.setAttribute("aria-posinset", n + 1);
    node.setAttribute("aria-setsize", this.total);
    let before = null;
    for (const other of this.node.children)
      if (Number(other.dataset.n) > n) {
        before = other;
        break;
      }
    this.node.insertBefore(node, before);
    this.shown.set(n, node);
    this.observer.observe(node);
    return node;
  }

  remove(n) {
    const node = this.shown.get(n);
    this.observer.unobserve(node);
    node.remove();
    this.shown.delete(n);
  }

  setHeight(n, height) {
    if (this.heights[n] === height) return;
    this.heights[n] = height;
    this.isStale = true;
  }

  /// Takes the real heights and keeps what is looked at in its place.
  measure(nodes) {
    if (this.isStopped || this.isOnPaper) return;
    const top = this.node.getBoundingClientRect().top;
    const anchor = this.at(Math.max(0, -top));
    const was = this.isStale ? this.lastPlaced(anchor) : this.offset(anchor);
    for (const node of nodes) if (node.isConnected) this.setHeight(Number(node.dataset.n), node.offsetHeight);
    if (!this.isStale) return;
    const moved = this.offset(anchor) - was;
    this.place();
    if (moved && top < 0) scrollBy({ top: moved, behavior: "instant" });
  }

  lastPlaced(n) {
    return this.offsets[n];
  }

  place() {
    this.node.style.setProperty("height", `${this.offset(this.total)}px`);
    for (const [n, node] of this.shown) node.style.setProperty("top", `${this.offsets[n]}px`);
  }

  /// Scrolls to an item, loads what is needed, and focuses it if asked.
  async goTo(n, isFocused) {
    const target = Math.max(0, Math.min(this.total - 1, n));
    await this.ensure(target);
    for (let round = 0; round < 4; round += 1) {
      this.sync();
      const top = this.node.getBoundingClientRect().top + scrollY + this.offset(target) - stickyHeight();
      if (Math.abs(top - scrollY) < 2) break;
      scrollTo({ top, behavior: "instant" });
      this.sync();
    }
    const node = this.shown.get(target);
    if (node && isFocused) node.focus({ preventScroll: true });
    return node;
  }

  /// The next item in a direction that is shown and passes a test.
  async find(from, step, test = () => true) {
    for (let n = from + step; n >= 0 && n < this.total; n += step) {
      await this.ensure(n);
      const item = this.item(n);
      if (item && !this.isHidden(item) && test(item)) return n;
    }
    return null;
  }

  /// The item that has the focus, or the first in the window.
  current() {
    const focused =
      document.activeElement && document.activeElement.closest && document.activeElement.closest("[data-n]");
    if (focused && this.node.contains(focused)) return Number(focused.dataset.n);
    return this.at(Math.max(0, stickyHeight() + 1 - this.node.getBoundingClientRect().top)) - 1;
  }

  /// Things changed from this item on.
  async refresh(from, total) {
    if (total > this.heights.length) {
      const more = new Float64Array(total * 2 + 256).fill(GUESS);
      more.set(this.heights);
      this.heights = more;
      this.offsets = new Float64Array(more.length + 1);
    }
    this.total = total;
    this.isStale = true;
    for (const n of [...this.shown.keys()]) if (n >= total) this.remove(n);
    const old = new Map();
    for (const [key, items] of this.pages)
      if (key + PAGE > from) {
        old.set(key, items);
        this.pages.delete(key);
      }
    for (const key of [...old.keys()].filter((from) => from < total)) {
      await this.ensure(key);
      (this.pages.get(key) || []).forEach((item, i) => {
        const before = old.get(key)[i];
        if (this.shown.has(key + i) && JSON.stringify(before) !== JSON.stringify(item)) this.renew(key + i);
      });
    }
    this.sync();
  }

  renew(n) {
    const hadFocus = this.shown.get(n).contains(document.activeElement);
    this.remove(n);
    const item = this.item(n);
    if (this.isHidden(item)) return this.setHeight(n, 0);
    const node = this.insert(n, item);
    if (hadFocus) node.focus({ preventScroll: true });
    this.measure([node]);
  }

  /// The choice of what is hidden changed.
  rebuild() {
    const anchor = Math.max(0, this.current());
    for (const n of [...this.shown.keys()]) this.remove(n);
    for (const [from, items] of this.pages)
      items.forEach((item, i) => {
        if (this.isHidden(item)) this.setHeight(from + i, 0);
        else if (this.heights[from + i] === 0) this.setHeight(from + i, GUESS);
      });
    this.sync();
    return this.goTo(anchor, false);
  }

  /// Everything that is loaded, for paper; until `leavePaper` nothing is taken away again.
  showLoaded(most) {
    this.isOnPaper = true;
    let left = most;
    for (const from of [...this.pages.keys()].sort((a, b) => a - b)) {
      this.pages.get(from).forEach((item, i) => {
        if (left <= 0 || this.shown.has(from + i) || this.isHidden(item)) return;
        this.insert(from + i, item);
        left -= 1;
      });
    }
  }

  leavePaper() {
    this.isOnPaper = false;
    this.plan();
  }
}

export function stickyHeight() {
  const bar = document.querySelector(".sticky");
  return bar && getComputedStyle(bar).position === "sticky" ? bar.offsetHeight + 8 : 8;
}
