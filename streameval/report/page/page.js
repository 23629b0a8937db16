"use strict";
// Sorting, filtering and tooltips. Text reaches the page through textContent, never as HTML.
(() => {
  const { about, tables: data } = JSON.parse(document.getElementById("data").textContent);
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const make = (tag, name, text) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const button = (text, action) => {
    const element = make("button", "", text);
    element.type = "button";
    element.addEventListener("click", action);
    return element;
  };
  const grouped = count => count.toLocaleString("en-US");
  const isText = kind => kind === "label" || kind === "text";
  const minus = text => text.replace(/^-/, "−");
  const fixed = (value, digits) => {
    const scale = 10 ** digits, scaled = value * scale, below = Math.floor(scaled);
    const tie = scaled - below === 0.5 && Number.isInteger(value * 2 ** (digits + 1));
    return (tie ? (below + Math.abs(below % 2)) / scale : value).toFixed(digits);
  };
  const short = value => String(Number(value.toPrecision(4)));
  const written = (value, kind) => {
    if (value === null) return "–";
    if (value === "inf") return "∞";
    if (value === "-inf") return "−∞";
    if (kind === "fraction" || kind === "bar") return minus(fixed(value, 4));
    if (kind === "change") return (value < 0 ? "" : "+") + minus(fixed(value, 4));
    if (kind === "tenths") return minus(fixed(value, 1)).replace(/\B(?=(\d{3})+\.)/g, ",");
    if (kind === "count" && Math.abs(value) < 1e15 && (Number.isInteger(value) || Math.abs(value) >= 1000)) {
      const digits = Number.isInteger(value) ? 0 : 1;
      return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    }
    return minus(short(value));
  };
  const number = value => value === null ? NaN : Number(value === "inf" ? Infinity : value === "-inf" ? -Infinity : value);
  const download = (name, type, text) => {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const tables = {};
  for (const element of document.querySelectorAll("table[data-table]")) {
    tables[element.dataset.table] = new class {
      constructor() {
        this.name = element.dataset.table;
        Object.assign(this, data[this.name]);
        this.size = this.values[0].length;
        this.heads = [...element.tHead.rows[0].cells];
        this.rows = Array.from({ length: this.size }, (_, row) => row);
        this.rest = document.querySelector(`[data-rest="${this.name}"]`) || make("p", "rest");
        element.parentNode.after(this.rest);
        this.by = this.heads.findIndex(head => head.hasAttribute("aria-sort"));
        this.down = this.by < 0 || this.heads[this.by].getAttribute("aria-sort") === "descending";
        const save = button("CSV", () => download(`${this.name}.csv`, "text/csv", this.csv()));
        save.title = "Download this table as CSV";
        element.caption.append(save);
        this.heads.forEach((head, column) => head.replaceChildren(button(head.textContent, () => this.sort(column))));
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
        const values = this.values[this.by], sign = this.down ? -1 : 1;
        if (isText(this.kinds[this.by])) return rows.sort((a, b) => sign * collator.compare(values[a], values[b]) || a - b);
        return rows.sort((a, b) => {
          const one = number(values[a]), two = number(values[b]);
          if (isNaN(one) || isNaN(two)) return isNaN(one) - isNaN(two) || a - b;
          return one === two ? a - b : sign * (one < two ? -1 : 1);
        });
      }
      draw() {
        const rows = this.order(), left = rows.length - this.limit;
        element.tBodies[0].replaceChildren(...rows.slice(0, this.limit).map(row => this.row(row)));
        this.rest.replaceChildren();
        const more = (text, count) => button(text, () => { this.limit += count; this.draw(); });
        if (left > 0) {
          const count = make("span", "", `${grouped(left)} more ${left === 1 ? "row" : "rows"}.`);
          this.rest.append(count, more(`Show ${Math.min(100, left)} more`, 100), more("Show all", Infinity));
        } else if (!rows.length) this.rest.append(make("span", "", "No row fits."));
        return rows.length;
      }
      keys() {
        const keys = this.names.map(name => name.toLowerCase().replaceAll(" ", "_"));
        return keys.map((key, column) => keys.indexOf(key) < column ? `${key}_${column}` : key);
      }
      records() {
        const keys = this.keys();
        return this.rows.map(row => Object.fromEntries(keys.map((key, column) => [key, this.values[column][row]])));
      }
      csv() {
        const cell = (value, kind) => {
          let text = value === null ? "" : String(value);
          if (isText(kind) && /^[=+\-@\t\r']/.test(text)) text = `'${text}`;
          return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
        };
        const lines = this.order().map(row => this.kinds.map((kind, column) => cell(this.values[column][row], kind)));
        return [this.keys().map(key => cell(key, "count")), ...lines].map(line => line.join(",") + "\r\n").join("");
      }
      row(row) {
        const line = make("tr");
        this.kinds.forEach((kind, column) => {
          const value = this.values[column][row];
          const cell = make(isText(kind) && column === 0 ? "th" : "td", kind);
          if (isText(kind)) {
            if (column === 0) cell.scope = "row";
            const text = this.short[column]?.[row] ?? value;
            cell.append(make("bdi", "", text));
            if (text !== value) cell.title = value;
          } else {
            cell.textContent = written(value, kind);
            if ((kind === "bar" || kind === "change") && value !== null)
              cell.style.setProperty("--v", Math.min(1, Math.max(-1, number(value) / this.full[column])).toFixed(3));
            if (this.few[column] && number(value) < this.few[column]) {
              cell.classList.add("few");
              cell.title = `fewer than ${this.few[column]}`;
            }
            const unless = this.unless[column];
            if (unless.length && unless.every(other => this.values[other][row] === 0)) {
              cell.classList.add("void");
              cell.title = "0/0, counted as 0";
            }
          }
          line.append(cell);
        });
        return line;
      }
    }();
  }

  const json = button("Download as JSON", () => {
    const records = Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, table.records()]));
    download("report.json", "application/json", JSON.stringify({ ...about, ...records }, null, 1));
  });
  document.querySelector("footer").append(json);

  for (const form of document.querySelectorAll("form[data-filter]")) {
    const table = tables[form.dataset.filter];
    if (!table) continue;
    const output = form.querySelector("output"), least = form.elements.least;
    const support = table.names.indexOf("support");
    if (support < 0) least.parentNode.remove();
    const strings = table.values.filter((_, column) => isText(table.kinds[column]));
    const words = table.rows.map(row => strings.map(column => column[row]).join("\n").toLocaleLowerCase());
    const apply = () => {
      const text = form.elements.text.value.toLocaleLowerCase(), floor = Number(least.value) || 0;
      const matches = table.filter(row =>
        words[row].includes(text) && (support < 0 || !floor || number(table.values[support][row]) >= floor));
      const what = form.dataset.row + (table.size === 1 ? "" : "s");
      output.textContent = `${text || floor ? `${grouped(matches)} of ` : ""}${grouped(table.size)} ${what}`;
    };
    form.hidden = false;
    form.addEventListener("input", apply);
    form.addEventListener("submit", event => event.preventDefault());
    apply();
  }
  const vertices = path => {
    const points = [], pattern = /([MLHV])(-?\d+)(?: (-?\d+))?(h0)?/g;
    let x = 0, y = 0;
    for (const [, command, first, second] of path.getAttribute("d").matchAll(pattern)) {
      if (command === "H") { x = +first; continue; }
      if (command === "V") y = +first; else [x, y] = [+first, +second];
      points.push([x, y]);
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
  const description = (area, hit) => {
    const { path, index, x, y } = hit;
    if (path.dataset.of) {
      const row = Number((path.rows ??= path.dataset.rows.split(" "))[index]), table = tables[path.dataset.of];
      const parts = table.names.slice(1, 6).map((head, at) =>
        `${head} ${written(table.values[at + 1][row], table.kinds[at + 1])}`);
      return [table.values[0][row], parts.join(", ")];
    }
    if (area.dataset.at) {
      const at = area.dataset.at.split(" ").map(Number), place = axisValue(area, "x", x / 1000);
      const nearest = at.reduce((best, one) => Math.abs(one - place) < Math.abs(best - place) ? one : best);
      const values = [...area.querySelectorAll("path[data-marks]")].map(line => {
        const points = line.points ??= vertices(line);
        const closest = points.reduce((best, point, at) => Math.abs(point[0] - x) < Math.abs(points[best][0] - x) ? at : best, 0);
        return `${line.dataset.name} ${minus(line.dataset.marks.split(" ")[closest])}`;
      });
      return [`${grouped(nearest)} ${area.dataset.x}`, values.join(", ")];
    }
    const parts = [["x", x / 1000], ["y", 1 - y / 1000]].map(([side, place]) =>
      `${area.dataset[side]} ${minus(short(Number(axisValue(area, side, place).toPrecision(3))))}`.trim());
    if (path.dataset.marks) {
      const mark = (path.marks ??= path.dataset.marks.split(" "))[index];
      parts.push(`threshold ${minus(mark.replace("inf", "∞"))}`);
    }
    return [path.dataset.name, parts.join(", ")];
  };
  for (const area of document.querySelectorAll(".area")) {
    const paths = [...area.querySelectorAll("path[data-name], path[data-of]")];
    if (!paths.length) continue;
    const dot = make("span", "dot"), tip = make("div", "tip");
    dot.hidden = tip.hidden = true;
    tip.setAttribute("aria-hidden", "true");
    area.append(dot, tip);
    const hide = () => { dot.hidden = tip.hidden = true; };
    const show = event => {
      const box = area.getBoundingClientRect(), hit = near(area, paths, event);
      if (!hit) return hide();
      const [name, text] = description(area, hit);
      tip.replaceChildren(make("b"), make("span", "", text));
      tip.firstChild.append(make("bdi", "", name));
      dot.hidden = tip.hidden = false;
      const x = hit.x / 1000 * box.width, y = hit.y / 1000 * box.height;
      dot.style.left = `${x}px`;
      dot.style.top = `${y}px`;
      const right = Math.min(box.right, document.documentElement.clientWidth) - box.left;
      tip.style.left = `${Math.max(-32, Math.min(x + 12, right - tip.offsetWidth))}px`;
      tip.style.top = `${y > tip.offsetHeight + 16 ? y - tip.offsetHeight - 12 : y + 14}px`;
      return undefined;
    };
    for (const name of ["pointermove", "pointerdown"]) area.addEventListener(name, show);
    area.addEventListener("pointerleave", hide);
    area.addEventListener("click", event => {
      const hit = near(area, paths, event), form = document.querySelector('form[data-filter="labels"]');
      if (!hit || !hit.path.dataset.of || !form) return;
      form.elements.text.value = description(area, hit)[0];
      form.dispatchEvent(new Event("input"));
    });
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
