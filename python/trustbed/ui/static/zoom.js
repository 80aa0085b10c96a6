// The packets of a transfer over time: the server says what a pixel shows, this draws it. The stretch of time is in the URL.
(() => {
  "use strict";

  const LEFT = 76;
  const AXIS = 22;
  const LEAST = 1000; // a microsecond

  function scaled(value, units, base) {
    const size = Math.abs(value);
    let index = 0;
    while (index < units.length - 1 && size >= base ** (index + 1)) index += 1;
    return `${Number((value / base ** index).toPrecision(3))} ${units[index]}`;
  }
  const BYTES = ["B", "kB", "MB", "GB", "TB"];
  const RATES = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];
  function bytes(value) { return scaled(value, BYTES, 1000); }
  // The labels of an axis, in the unit of its step: values that hardly differ stay different.
  function labels(values, units) {
    const step = values.length > 1 ? values[1] - values[0] : Math.abs(values[0]) || 1;
    let index = 0;
    while (index < units.length - 1 && step >= 1000 ** (index + 1) * 0.99) index += 1;
    const digits = Math.max(0, Math.min(3, -Math.floor(Math.log10(step / 1000 ** index) + 1e-9)));
    return values.map((value) => `${grouped((value / 1000 ** index).toFixed(digits))} ${units[index]}`);
  }
  function seconds(value) { return value === 0 ? "0 s" : Math.abs(value) >= 1 ? `${Number(value.toPrecision(3))} s` : scaled(value * 1e9, ["ns", "µs", "ms"], 1000); }
  function grouped(text) { return text.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f"); }
  // Nanoseconds as seconds with every digit, in groups of three.
  function moment(ns) {
    const [whole, part] = [Math.floor(ns / 1e9), String(((ns % 1e9) + 1e9) % 1e9).padStart(9, "0")];
    return `${whole}.${part.match(/.{3}/g).join("\u202f")} s`;
  }
  function steps(least, most, count) {
    const raw = (most - least) / Math.max(1, count);
    if (!(raw > 0)) return [least];
    const power = 10 ** Math.floor(Math.log10(raw));
    const nice = [1, 2, 5, 10].map((one) => one * power);
    const enough = (step) => Math.floor(most / step) - Math.ceil(least / step) >= 1;
    const step = nice.find((one) => one >= raw && enough(one)) ?? nice.findLast(enough) ?? power / 2;
    const found = [];
    for (let at = Math.ceil(least / step) * step; at <= most + step * 1e-6; at += step) found.push(at);
    return found;
  }

  const PANELS = [
    { name: "phases", height: 20 },
    { name: "sequence", height: 210, title: "Sequence", units: BYTES },
    { name: "flight", height: 90, title: "In flight", units: BYTES },
    { name: "rtt", height: 90, title: "RTT (grey: from the capture to the sender)", units: ["ns", "µs", "ms", "s"], scale: 1e9 },
    { name: "rate", height: 70, title: "Throughput", units: RATES, scale: 8 },
    { name: "pause", height: 60, title: "Pauses", units: ["ns", "µs", "ms", "s"], scale: 1e9 },
  ];
  const inks = new Map();
  function ink(name) {
    if (!inks.has(name)) {
      const probe = document.createElement("i");
      probe.className = `ink ${name}`;
      document.body.append(probe);
      inks.set(name, getComputedStyle(probe).color);
      probe.remove();
    }
    return inks.get(name);
  }

  const query = () => new URLSearchParams(location.search);
  const number = (name, otherwise) => (query().has(name) && /^\d{1,16}$/.test(query().get(name)) ? Number(query().get(name)) : otherwise);

  class Zoom {
    constructor(section, group) {
      this.section = section;
      this.group = group;
      this.state = section.querySelector(".state");
      this.readout = section.querySelector(".readout");
      this.span = section.querySelector(".span");
      this.canvas = document.createElement("canvas");
      section.querySelector(".canvases").append(this.canvas);
      this.data = null;
      this.asked = 0;
      this.listen();
    }

    get width() { return Math.max(200, this.canvas.clientWidth); }
    get plot() { return this.width - LEFT - 8; }

    async load() {
      const turn = (this.asked += 1);
      const { begin, end } = this.group;
      const words = new URLSearchParams({ px: String(Math.round(this.plot)) });
      if (begin !== null) words.set("from", String(begin));
      if (end !== null) words.set("to", String(end));
      else if (this.group.common) words.set("to", String(this.group.common));
      let found;
      try {
        const answer = await fetch(`${this.section.dataset.points}?${words}`);
        if (!answer.ok) throw new Error(`${answer.status}`);
        found = await answer.json();
      } catch (error) {
        this.state.textContent = `The server does not answer (${error.message}).`;
        return;
      }
      if (turn !== this.asked) return;
      this.data = found;
      const pending = found.pending;
      this.state.textContent = !pending ? "" : pending.state === "reading" ? `Reading the capture${pending.total ? `: ${Math.floor((100 * pending.done) / pending.total)} %` : ""}…` : `No packets: ${pending.message}${pending.hint ? ` (${pending.hint})` : ""}.`;
      this.section.dataset.ready = pending ? pending.state : "done";
      this.draw();
      if (pending?.state === "reading") setTimeout(() => this.load(), 500);
    }

    x(time) { return LEFT + ((time - this.data.from) / (this.data.to - this.data.from)) * this.plot; }
    time(x) { return this.data.from + ((x - LEFT) / this.plot) * (this.data.to - this.data.from); }

    draw(light) {
      if (!this.data) return;
      inks.clear();
      const { view } = this.data;
      const shown = PANELS.filter((panel) => panel.name === "phases" || (view && this.values(panel.name).length));
      const height = shown.reduce((sum, panel) => sum + panel.height + 8, 0) + AXIS;
      const ratio = window.devicePixelRatio || 1;
      this.canvas.width = this.width * ratio;
      this.canvas.height = height * ratio;
      this.canvas.style.height = `${height}px`;
      const paint = this.canvas.getContext("2d");
      paint.scale(ratio, ratio);
      paint.font = "11px system-ui, sans-serif";
      let top = 0;
      for (const panel of shown) {
        this.panel(paint, panel, top);
        top += panel.height + 8;
      }
      this.axis(paint, top);
      this.height = top;
      const length = this.data.to - this.data.from;
      this.span.textContent = `${moment(this.data.from)} to ${moment(this.data.to)}  (${seconds(length / 1e9)})${view ? `  ${grouped(String(view.packets))} packets${view.exact ? ", each shown" : ""}` : ""}`;
    }

    // All values of a panel, for its axis.
    values(name) {
      const { view } = this.data;
      const one = view[name];
      if (name === "sequence") return [...one.low, ...one.high].filter((value) => value !== null);
      if (name === "flight") return [...one.high, ...one.window].filter((value) => value !== null);
      if (name === "rtt") return [...one.high, ...view.echo.high, ...one.low, ...view.echo.low].filter((value) => value !== null);
      if (name === "rate") return one.bytes_per_second;
      return one.high;
    }

    // The least and the most of a panel's axis.
    range(name) {
      let least = name === "sequence" ? Infinity : 0;
      let most = -Infinity;
      if (this.data?.view) for (const value of this.values(name)) { if (value < least) least = value; if (value > most) most = value; }
      if (name === "flight" && most > 0) { // a window far above what is in flight would flatten it
        const high = Math.max(1, ...this.data.view.flight.high.filter((value) => value !== null));
        most = Math.min(most, 4 * high);
      }
      return [least, most];
    }

    panel(paint, panel, top) {
      const bottom = top + panel.height;
      if (panel.name === "phases") return this.phases(paint, top, bottom);
      const [least] = this.range(panel.name);
      // Two transfers have the same scale; the bytes of each begin where they are.
      let most = least + Math.max(...this.group.zooms.map((zoom) => zoom.range(panel.name)).map(([low, high]) => (high > low ? high - low : 0)));
      if (most <= least) most = least + 1;
      const y = (value) => bottom - ((value - least) / (most - least)) * (panel.height - 4);
      this.canvas.dataset[panel.name] = String(most - least);
      paint.fillStyle = ink("soft");
      paint.strokeStyle = ink("line");
      paint.lineWidth = 1;
      paint.textAlign = "right";
      paint.textBaseline = "middle";
      const scale = panel.scale ?? 1;
      const marks = steps(least * scale, most * scale, panel.height / 34);
      const words = labels(marks, panel.units);
      for (const [number, mark] of marks.entries()) {
        const at = Math.round(y(mark / scale)) + 0.5;
        paint.beginPath(); paint.moveTo(LEFT, at); paint.lineTo(LEFT + this.plot, at); paint.stroke();
        paint.fillText(words[number], LEFT - 6, at);
      }
      paint.save();
      paint.beginPath(); paint.rect(LEFT, top - 1, this.plot, panel.height + 2); paint.clip();
      this[panel.name](paint, y, this.data.view[panel.name]);
      paint.restore();
      paint.textAlign = "left";
      paint.textBaseline = "top";
      paint.globalAlpha = 0.75;
      paint.fillStyle = ink("paper");
      paint.fillRect(LEFT + 1, top, paint.measureText(panel.title).width + 6, 13);
      paint.globalAlpha = 1;
      paint.fillStyle = ink("ink-text");
      paint.fillText(panel.title, LEFT + 4, top + 1);
    }

    phases(paint, top, bottom) {
      const band = this.data.phases;
      for (let i = 0; i < band.t.length; i += 1) {
        const [from, to] = [Math.max(LEFT, this.x(band.t[i])), Math.min(LEFT + this.plot, this.x(band.end[i]))];
        if (to < from) continue;
        paint.fillStyle = ink(`role-${band.role[i]}`);
        paint.fillRect(from, bottom - band.high[i] * (bottom - top), Math.max(0.5, to - from), (band.high[i] - band.low[i]) * (bottom - top));
      }
      paint.fillStyle = ink("soft");
      paint.textAlign = "right";
      paint.textBaseline = "middle";
      paint.fillText("Phases", LEFT - 6, (top + bottom) / 2);
    }

    stroke(paint, t, values, y, colour, dash = []) {
      paint.strokeStyle = ink(colour);
      paint.setLineDash(dash);
      paint.beginPath();
      let last = null;
      for (let i = 0; i < t.length; i += 1) {
        if (values[i] === null) continue;
        const [px, py] = [this.x(t[i]), y(values[i])];
        if (last === null) paint.moveTo(px, py);
        else { paint.lineTo(px, last); paint.lineTo(px, py); }
        last = py;
      }
      paint.stroke();
      paint.setLineDash([]);
    }

    bars(paint, t, low, high, y, colour, wide = 1.5) {
      paint.fillStyle = ink(colour);
      for (let i = 0; i < t.length; i += 1) {
        if (high[i] === null) continue;
        const [a, b] = [y(low[i]), y(high[i])];
        paint.fillRect(this.x(t[i]) - wide / 2, b, wide, Math.max(1.5, a - b));
      }
    }

    sequence(paint, y, one) {
      this.stroke(paint, one.t, one.edge, y, "role-window", [5, 3]);
      this.stroke(paint, one.t, one.acked, y, "role-acknowledgement");
      this.bars(paint, one.t, one.low, one.high, y, "role-data", this.data.view.exact ? 2 : 1.5);
      const { marks } = this.data.view;
      for (const [kind, colour] of [[2, "role-timeout"], [1, "role-retransmission"]]) {
        paint.fillStyle = ink(colour);
        for (let i = 0; i < marks.t.length; i += 1) {
          if (marks.kind[i] !== kind) continue;
          const px = this.x(marks.t[i]);
          paint.fillRect(px - 1.5, y(marks.high[i]) - 2, 3, Math.max(5, y(marks.low[i]) - y(marks.high[i]) + 4));
        }
      }
    }
    flight(paint, y, one) {
      this.stroke(paint, one.t, one.window, y, "role-window", [5, 3]);
      this.bars(paint, one.t, one.low.map((low, i) => (this.data.view.exact ? 0 : low)), one.high, y, "role-data");
    }
    rtt(paint, y, one) {
      this.bars(paint, this.data.view.echo.t, this.data.view.echo.low, this.data.view.echo.high, y, "role-acknowledgement");
      this.bars(paint, one.t, one.low, one.high, y, "role-data", 2);
    }
    rate(paint, y, one) {
      paint.fillStyle = ink("role-data");
      paint.globalAlpha = 0.55;
      for (let i = 0; i < one.t.length; i += 1) {
        const from = this.x(one.t[i]);
        paint.fillRect(from, y(one.bytes_per_second[i]), this.x(one.t[i] + one.step) - from + 0.3, y(0) - y(one.bytes_per_second[i]));
      }
      paint.globalAlpha = 1;
    }
    pause(paint, y, one) { this.bars(paint, one.t, one.high.map(() => 0), one.high, y, "role-silence"); }

    axis(paint, top) {
      const { from, to } = this.data;
      const marks = steps(from, to, this.plot / 110);
      const step = marks.length > 1 ? marks[1] - marks[0] : to - from;
      const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / 1e9) - 1e-9)));
      // Below a millisecond only what differs is printed; the first moment is beside the buttons.
      const relative = step < 1e6 && from > 0;
      paint.fillStyle = ink("soft");
      paint.strokeStyle = ink("line");
      paint.textAlign = "center";
      paint.textBaseline = "top";
      for (const mark of relative ? steps(0, to - from, this.plot / 110).map((one) => one + from) : marks) {
        const px = Math.round(this.x(mark)) + 0.5;
        paint.beginPath(); paint.moveTo(px, 24); paint.lineTo(px, top); paint.globalAlpha = 0.5; paint.stroke(); paint.globalAlpha = 1;
        paint.fillText(relative ? `+${seconds((mark - from) / 1e9)}` : `${(mark / 1e9).toFixed(digits)} s`, Math.min(px, this.width - 30), top + 3);
      }
    }

    // What is under the pointer.
    point(event) {
      if (!this.data) return;
      const px = event.offsetX;
      this.draw();
      const paint = this.canvas.getContext("2d");
      if (px < LEFT) { this.readout.textContent = "\u00a0"; return; }
      const time = Math.round(this.time(px));
      paint.strokeStyle = ink("link");
      paint.beginPath(); paint.moveTo(px, 0); paint.lineTo(px, this.height); paint.stroke();
      if (this.dragged) {
        paint.fillStyle = ink("link");
        paint.globalAlpha = 0.15;
        paint.fillRect(Math.min(px, this.dragged.x), 0, Math.abs(px - this.dragged.x), this.height);
        paint.globalAlpha = 1;
      }
      const parts = [moment(time)];
      const band = this.data.phases;
      const states = band.t.map((_, i) => i).filter((i) => band.t[i] <= time && time < band.end[i]);
      if (states.length) parts.push(states.map((i) => band.word[i]).join(" / "));
      const view = this.data.view;
      if (view?.sequence.t.length) {
        const i = nearest(view.sequence.t, time);
        const one = view.sequence;
        if (view.exact) {
          parts.push(`packet ${grouped(String(one.index[i]))} at ${moment(one.t[i])}`, `offset ${grouped(String(one.low[i]))} B`, `${grouped(String(one.length[i]))} B`);
          if (i) parts.push(`${seconds((one.t[i] - one.t[i - 1]) / 1e9)} after the one before`);
        }
        if (view.flight.high[i] !== null) parts.push(`in flight ${bytes(view.flight.high[i])}`);
        if (view.rtt.t.length) parts.push(`RTT ${seconds(view.rtt.high[nearest(view.rtt.t, time)])}`);
      }
      this.readout.textContent = parts.join("  ·  ");
    }

    listen() {
      this.canvas.addEventListener("pointerdown", (event) => {
        this.dragged = { x: Math.max(LEFT, event.offsetX), shift: event.shiftKey, ...this.group.now(this) };
        this.canvas.setPointerCapture(event.pointerId);
      });
      this.canvas.addEventListener("pointermove", (event) => this.point(event));
      this.canvas.addEventListener("pointerleave", () => { this.draw(); this.readout.textContent = "\u00a0"; });
      this.canvas.addEventListener("pointerup", (event) => {
        const from = this.dragged;
        this.dragged = null;
        if (!from || !this.data || Math.abs(event.offsetX - from.x) < 4) return;
        const [a, b] = [this.time(from.x), this.time(Math.max(LEFT, event.offsetX))];
        if (from.shift) this.group.move(from.begin + a - b, from.end + a - b);
        else this.group.move(Math.min(a, b), Math.max(a, b));
      });
      this.canvas.addEventListener("dblclick", () => this.group.all());
      this.canvas.addEventListener("wheel", (event) => {
        if (!this.data || !(event.ctrlKey || this.section.contains(document.activeElement))) return; // a page must still scroll
        event.preventDefault();
        this.group.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 120), this, this.time(event.offsetX));
      }, { passive: false });
      for (const button of this.section.querySelectorAll("[data-do]")) button.addEventListener("click", () => this.group.act(button.dataset.do));
    }
  }

  function nearest(times, time) {
    let [low, high] = [0, times.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time) low = middle; else high = middle;
    }
    return time - times[low] <= times[high] - time ? low : high;
  }

  // All charts of a page show the same stretch of time.
  class Group {
    constructor(sections) {
      this.begin = number("from", null);
      this.end = number("to", null);
      this.zooms = sections.map((section) => new Zoom(section, this));
    }
    now(zoom = this.zooms[0]) { return { begin: zoom.data?.from ?? 0, end: zoom.data?.to ?? 1 }; }
    whole() { return Math.max(...this.zooms.map((zoom) => zoom.data?.whole ?? 1)); }
    // Two transfers have one time axis: that of the longer one.
    async load() {
      await Promise.all(this.zooms.map((zoom) => zoom.load()));
      if (this.zooms.length > 1) for (const zoom of this.zooms) zoom.draw(); // by the axes of all
      if (this.zooms.length < 2 || this.end !== null || this.common === this.whole()) return;
      this.common = this.whole();
      this.load();
    }
    move(begin, end) {
      const length = Math.max(LEAST, Math.round(end - begin));
      this.begin = Math.max(0, Math.min(Math.round(begin), this.whole() - length));
      this.end = Math.min(this.begin + length, Math.max(this.whole(), this.begin + LEAST));
      this.keep();
    }
    all() { this.begin = null; this.end = null; this.keep(); }
    keep() {
      const words = query();
      for (const [name, value] of [["from", this.begin], ["to", this.end]]) if (value === null) words.delete(name); else words.set(name, String(value));
      history.replaceState(null, "", `${location.pathname}${String(words) ? `?${words}` : ""}`);
      this.load();
    }
    zoom(factor, zoom = this.zooms[0], around = null) {
      const { begin, end } = this.now(zoom);
      const middle = around ?? (begin + end) / 2;
      this.move(middle - (middle - begin) * factor, middle + (end - middle) * factor);
    }
    act(what) {
      const { begin, end } = this.now();
      const step = (end - begin) / 3;
      if (what === "in") this.zoom(0.5);
      else if (what === "out") this.zoom(2);
      else if (what === "left") this.move(Math.max(0, begin - step), Math.max(0, begin - step) + end - begin);
      else if (what === "right") this.move(begin + step, end + step);
      else this.all();
    }
  }

  const group = new Group([...document.querySelectorAll(".zoom")]);
  const KEYS = { "+": "in", "=": "in", "-": "out", h: "left", ArrowLeft: "left", l: "right", ArrowRight: "right", 0: "all" };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input") || document.querySelector("dialog[open]")) return;
    if (!KEYS[event.key]) return;
    group.act(KEYS[event.key]);
    event.preventDefault();
  });
  const again = () => { for (const zoom of group.zooms) zoom.draw(); };
  let waiting;
  window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => group.load(), 150); });
  window.addEventListener("themechange", again);
  // Paper is light, whatever the screen is.
  const theme = document.documentElement.dataset;
  window.addEventListener("beforeprint", () => { theme.before = theme.theme ?? ""; theme.theme = "light"; again(); });
  window.addEventListener("afterprint", () => { if (theme.before) theme.theme = theme.before; else delete theme.theme; delete theme.before; again(); });
  group.load();
})();
