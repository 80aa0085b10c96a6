// Draws the charts when they come into view, or all of them before printing; sorts tables. Without it the page still states everything in words.
(() => {
  "use strict";

  const source = document.getElementById("payload");
  const payload = source ? JSON.parse(source.textContent) : { specs: [], data: [], charts: [] };

  const look = {
    background: "transparent",
    aria: false, // the figure states in one sentence what a screen reader would read mark by mark
    font: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', sans-serif",
    view: { stroke: null },
    axis: {
      labelColor: "var(--chart-axis)",
      titleColor: "var(--chart-axis)",
      gridColor: "var(--chart-grid)",
      domainColor: "var(--chart-grid)",
      tickColor: "var(--chart-grid)",
      labelFontSize: 11,
      titleFontSize: 11,
      titleFontWeight: "normal",
      titlePadding: 8,
      labelPadding: 4,
    },
    legend: { labelColor: "var(--chart-axis)", labelFontSize: 11.5, symbolOpacity: 1, symbolSize: 130, labelLimit: 260, offset: 6, columnPadding: 14 },
  };

  // As many legend entries beside each other as the longest ones leave room for.
  const legendColumns = (figure) => Math.max(1, Math.floor((figure.clientWidth - 60) / 175));

  const tables = new Map();

  function rows(index) {
    if (!tables.has(index)) {
      const columns = Object.entries(payload.data[index]).map(([name, values]) => [
        name,
        Array.isArray(values) ? values : values.codes.map((code) => values.levels[code]),
      ]);
      const length = columns.length ? columns[0][1].length : 0;
      tables.set(index, { columns, length });
    }
    const { columns, length } = tables.get(index);
    return Array.from({ length }, (_, index) => Object.fromEntries(columns.map(([name, values]) => [name, values[index]])));
  }

  function specification(number) {
    const chart = payload.charts[number];
    const spec = structuredClone(payload.specs[chart.spec]);
    for (const param of spec.params) param.value = chart.params[param.name];
    spec.datasets = Object.fromEntries(Object.entries(chart.data).map(([name, index]) => [name, rows(index)]));
    return spec;
  }

  const views = new Map();

  async function draw(figure) {
    if (figure.dataset.drawn) return;
    figure.dataset.drawn = "started";
    figure.dataset.columns = legendColumns(figure);
    try {
      const result = await window.vegaEmbed(figure, specification(Number(figure.dataset.chart)), {
        ast: true, // interpreted expressions: the page's security policy allows no evaluation of strings
        actions: false,
        renderer: "svg",
        config: { ...look, legend: { ...look.legend, columns: Number(figure.dataset.columns) } },
        tooltip: { theme: "custom" },
      });
      views.set(figure, result);
      figure.dataset.drawn = "done";
    } catch (error) {
      figure.dataset.drawn = "failed";
      figure.textContent = `This chart could not be drawn: ${error.message}`;
      console.error(error);
    }
  }

  // The width follows by itself; the legend's columns need a new drawing (a phone that is turned).
  function redraw() {
    for (const [figure, result] of views) {
      if (legendColumns(figure) === Number(figure.dataset.columns)) continue;
      result.finalize();
      views.delete(figure);
      delete figure.dataset.drawn;
      draw(figure);
    }
  }

  let waiting;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 200);
  });

  const figures = [...document.querySelectorAll(".plot")];
  if ("IntersectionObserver" in window) {
    const observer = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) {
          if (!entry.isIntersecting) continue;
          observer.unobserve(entry.target);
          draw(entry.target);
        }
      },
      { rootMargin: "500px" },
    );
    for (const figure of figures) observer.observe(figure);
  } else {
    figures.forEach(draw);
  }

  // Paper is narrower than most screens: charts are fitted to it before the browser lays the pages out.
  const opened = [];
  window.addEventListener("beforeprint", () => {
    document.documentElement.classList.add("printing");
    for (const details of document.querySelectorAll("details:not([open])")) {
      details.open = true; // first: a chart in a closed fold has no width to be drawn in
      opened.push(details);
    }
    window.dispatchEvent(new Event("resize"));
    redraw();
    figures.forEach(draw);
  });
  window.addEventListener("afterprint", () => {
    document.documentElement.classList.remove("printing");
    for (const details of opened.splice(0)) details.open = false;
    window.dispatchEvent(new Event("resize"));
  });

  function value(cell) {
    const text = cell.dataset.value ?? cell.textContent.trim();
    const number = Number(text);
    return text === "" ? null : Number.isNaN(number) ? text : number;
  }

  function compare(left, right) {
    if (left === null || right === null) return (left === null) - (right === null);
    if (typeof left === "number" && typeof right === "number") return left - right;
    return String(left).localeCompare(String(right), "en", { numeric: true });
  }

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const descending = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        const body = table.tBodies[0];
        const sorted = [...body.rows].sort((one, two) => {
          const [left, right] = [value(one.cells[column]), value(two.cells[column])];
          const unknown = left === null || right === null;
          return compare(left, right) * (descending && !unknown ? -1 : 1);
        });
        body.append(...sorted);
      });
    });
  }
})();
