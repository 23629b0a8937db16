"use strict";
// Sorting, filtering and tooltips. Text reaches the page through textContent, never as HTML.
(() => {
  const { about, tables: data } = JSON.parse(document.getElementById("data").textContent);
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const make = (tag, fields) => {
    const element = document.createElement(tag);
    element.dataset.made = "";
    return Object.assign(element, fields);
  };
  for (const element of document.querySelectorAll("[data-made]:not(th > *)")) element.remove();  // of a saved page
  const button = (textContent, onclick) => make("button", { type: "button", textContent, onclick });
  const grouped = value => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  const isText = kind => kind === "label" || kind === "text";
  const minus = text => text.replace(/^-/, "−");
  const number = value => value === null ? NaN : typeof value === "string" ? Number(value.replace("inf", "Infinity")) : value;
  const download = (name, type, text) => {
    const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const copy = async text => {
    try {
      await navigator.clipboard.writeText(text);
      return "copied";
    } catch {  // as where a page is served without encryption
      return "not copied: the browser does not allow it";
    }
  };
  const tables = {};
  for (const element of document.querySelectorAll("table[data-table]")) {
    const name = element.dataset.table;
    tables[name] = new class {
      constructor() {
        Object.assign(this, data[name]);
        this.rows = [...this.values[0].keys()];
        const keys = this.names.map(head => head.toLowerCase().replaceAll(" ", "_"));
        this.keys = keys.map((key, column) => keys.indexOf(key) < column ? `${key}_${column}` : key);
        this.heads = [...element.tHead.rows[0].cells];
        this.lines = [];
        for (const line of element.querySelectorAll("tbody tr")) this.lines[line.dataset.row] = line;
        this.rest = make("p", { className: "rest" });
        element.parentNode.after(this.rest);
        this.by = this.heads.findIndex(head => head.hasAttribute("aria-sort"));
        this.down = this.by < 0 || this.heads[this.by].getAttribute("aria-sort") === "descending";
        const save = button("CSV", () => download(`${name}.csv`, "text/csv", this.text(",")));
        save.title = "Download this table as CSV";
        const take = button("Copy", async () => { said.textContent = ""; said.textContent = await copy(this.text("\t")); });
        take.title = "Copy this table, for a spreadsheet";
        const said = make("span", { role: "status" });
        element.caption.append(save, take, said);
        this.heads.forEach((head, column) => {
          const words = (head.querySelector("button") ?? head).cloneNode(true).childNodes, sorter = button("", () => this.sort(column));
          sorter.append(...words);
          head.replaceChildren(sorter);
        });
        this.filter(() => true);
      }
      sort(column) {
        this.down = this.by === column ? !this.down : !isText(this.kinds[column]);
        this.by = column;
        this.heads.forEach(head => head.removeAttribute("aria-sort"));
        this.heads[column].setAttribute("aria-sort", this.down ? "descending" : "ascending");
        this.draw();
      }
      filter(keep) {
        this.keep = keep;
        this.limit = this.first;
        return this.draw();
      }
      order() {
        const rows = this.rows.filter(this.keep);
        if (this.by < 0) return rows;
        const sign = this.down ? -1 : 1, words = isText(this.kinds[this.by]);
        const values = words ? this.values[this.by] : this.values[this.by].map(number);
        return rows.sort((a, b) => {
          const one = values[a], two = values[b];
          if (words) return sign * collator.compare(one, two) || a - b;
          return isNaN(one) || isNaN(two) ? isNaN(one) - isNaN(two) || a - b : sign * (one - two) || a - b;
        });
      }
      draw() {
        const rows = this.order(), left = rows.length - this.limit;
        for (const line of this.lines) element.tBodies[1].append(line);  // all stay, for a browser that saves the page
        for (const row of rows.slice(0, this.limit)) element.tBodies[0].append(this.lines[row]);
        const more = (text, count) => button(text, () => { this.limit += count; this.draw(); });
        const say = text => make("span", { textContent: text });
        if (left > 0) {
          const omitted = say(`${grouped(left)} more ${left === 1 ? "row" : "rows"}.`);
          const hundred = left > 100 ? [more("Show 100 more", 100)] : [];
          this.rest.replaceChildren(omitted, ...hundred, more("Show all", Infinity));
        } else this.rest.replaceChildren(...rows.length ? [] : [say(this.rows.length ? "No row fits." : "None.")]);
        return rows.length;
      }
      records() {
        return this.rows.map(row => Object.fromEntries(this.keys.map((key, column) => [key, this.values[column][row]])));
      }
      text(between) {
        const cell = (value, kind) => {
          let text = value === null ? "" : String(value);
          if (isText(kind) && /^[=+\-@\t\r']/.test(text)) text = `'${text}`;
          return /["\r\n]/.test(text) || text.includes(between) ? `"${text.replaceAll('"', '""')}"` : text;
        };
        const lines = this.order().map(row => this.kinds.map((kind, column) => cell(this.values[column][row], kind)));
        return [this.keys.map(key => cell(key, "count")), ...lines].map(line => line.join(between) + "\r\n").join("");
      }
    }();
  }
  const sized = new ResizeObserver(entries => {
    for (const { target } of entries) {
      const box = target.closest(".scroll");
      box.classList.toggle("scrolls", box.scrollWidth > box.clientWidth);
    }
  });
  for (const box of document.querySelectorAll(".scroll, .scroll table")) sized.observe(box);
  document.querySelector("footer").append(button("Download as JSON", () => {
    const records = Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, table.records()]));
    download("report.json", "application/json", JSON.stringify({ ...about, ...records }, null, 1));
  }));
  for (const form of document.querySelectorAll("form[data-filter]")) {
    const table = tables[form.dataset.filter], output = form.querySelector("output"), least = form.elements.least;
    const support = table.values[table.names.indexOf("support")];
    if (!support) least.parentNode.remove();
    const strings = table.values.filter((_, column) => isText(table.kinds[column]));
    const words = table.rows.map(row => strings.map(column => column[row]).join("\n").toLocaleLowerCase());
    const apply = () => {
      const text = form.elements.text.value.toLocaleLowerCase(), floor = Number(least.value) || 0;
      const fits = row => words[row].includes(text) && (!support || !floor || number(support[row]) >= floor);
      const matches = table.filter(fits), size = table.rows.length;
      const what = form.dataset.row + (size === 1 ? "" : "s");
      output.textContent = `${text || floor ? `${grouped(matches)} of ` : ""}${grouped(size)} ${what}`;
    };
    form.hidden = false;
    form.addEventListener("input", apply);
    form.addEventListener("submit", event => event.preventDefault());
    apply();
  }
  const vertices = path => {
    const points = [];
    let x = 0, y = 0;
    for (const [, command, first, second] of path.getAttribute("d").matchAll(/([MLHV])(-?\d+)(?: (-?\d+))?/g)) {
      if (command === "V") y = +first; else [x, y] = [+first, +(second ?? y)];
      if (command !== "H") points.push([x, y]);
    }
    return points;
  };
  const axisValue = (area, side, place) => {
    const low = Number(area.dataset[`${side}Low`]), high = Number(area.dataset[`${side}High`]);
    return `${side}Log` in area.dataset ? low * (high / low) ** place : low + (high - low) * place;
  };
  const near = (area, paths, event) => {
    let best = null;
    const box = area.getBoundingClientRect(), left = event.clientX - box.left, top = event.clientY - box.top;
    const width = area.clientWidth / 1000, height = area.clientHeight / 1000;
    for (const path of paths) {
      path.points ??= vertices(path);
      path.points.forEach(([x, y], index) => {
        const up = "at" in area.dataset ? 0 : y * height - top;  // along a stream wherever the pointer is
        const far = Math.hypot(x * width - left, up) + (path.classList.contains("faint") ? 6 : 0);
        if (far < 36 && (!best || far < best.far)) best = { far, path, index, x, y };
      });
    }
    return best;
  };
  const nearest = (places, x) => places.reduce((best, place, at) => Math.abs(place - x) < Math.abs(places[best] - x) ? at : best, 0);
  const description = (area, { path, index, x, y }) => {
    const { of, marks, rows, name } = path.dataset;
    if (of) {
      const row = Number(rows.split(" ")[index]), table = tables[of];
      const parts = table.names.map((head, at) => `${head} ${table.lines[row].cells[at].textContent}`);
      return [table.values[0][row], parts.slice(1, 6).join(", ")];
    }
    if (area.dataset.at) {
      const at = area.dataset.at.split(" ").map(Number);
      const values = [...area.querySelectorAll("path[data-marks]")].map(line => {
        const closest = nearest((line.points ??= vertices(line)).map(point => point[0]), x);
        return `${line.dataset.name} ${minus(line.dataset.marks.split(" ")[closest])}`;
      });
      return [`${grouped(at[nearest(at, axisValue(area, "x", x / 1000))])} ${area.dataset.x}`, values.join(", ")];
    }
    const parts = [["x", x / 1000], ["y", 1 - y / 1000]].map(([side, place]) =>
      `${area.dataset[side]} ${minus(String(Number(axisValue(area, side, place).toPrecision(3))))}`.trim());
    if (marks) parts.push(`threshold ${minus(marks.split(" ")[index].replace("inf", "∞"))}`);
    return [name, parts.join(", ")];
  };
  for (const area of document.querySelectorAll(".area")) {
    const paths = [...area.querySelectorAll("path[data-name], path[data-of]")];
    if (!paths.length) continue;
    const dot = make("span", { className: "dot", hidden: true }), tip = make("div", { className: "tip", hidden: true });
    tip.setAttribute("aria-hidden", "true");
    area.append(dot, tip);
    const show = event => {
      const box = area.getBoundingClientRect(), hit = near(area, paths, event);
      dot.hidden = tip.hidden = !hit;
      if (!hit) return;
      const [name, text] = description(area, hit);
      tip.replaceChildren(make("b"), make("span", { textContent: text }));
      tip.firstChild.append(make("bdi", { textContent: name }));
      const x = hit.x / 1000 * box.width, y = hit.y / 1000 * box.height;
      dot.style.left = `${x}px`;
      dot.style.top = `${y}px`;
      const right = Math.min(box.right, document.documentElement.clientWidth) - box.left;
      tip.style.left = `${Math.max(-32, Math.min(x + 12, right - tip.offsetWidth))}px`;
      tip.style.top = `${y > tip.offsetHeight + 16 ? y - tip.offsetHeight - 12 : y + 14}px`;
    };
    area.addEventListener("pointermove", show);
    area.addEventListener("pointerdown", show);
    area.addEventListener("pointerleave", () => { dot.hidden = tip.hidden = true; });
  }
  for (const select of document.querySelectorAll("select[data-curves]")) {
    select.closest("[hidden]").hidden = false;
    const output = make("output");
    select.closest("p").append(output);
    select.addEventListener("change", () => {
      for (const path of document.querySelectorAll("path.faint")) {
        const on = select.value !== "" && path.classList.contains(`of${select.value}`);
        path.classList.toggle("on", on);
        if (on) path.parentNode.append(path);
      }
      output.textContent = [...document.querySelectorAll("path.faint.on")].map(path => path.dataset.name).join("; ");
    });
  }
})();
