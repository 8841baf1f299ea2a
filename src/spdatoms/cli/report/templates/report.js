// Shows one item of a list at a time: its text, its picture, and groups of bars with pictures.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const [filter, list, detail] = ["filter", "list", "detail"].map(id => document.getElementById(id));
  const bytes = Uint8Array.from(atob(data.values), character => character.charCodeAt(0));
  const side = data.side, area = side * (side + 1) / 2;

  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };

  const colour = name => {
    const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const long = hex.length === 4 ? hex.replace(/[^#]/g, "$&$&") : hex;
    return [1, 3, 5].map(i => parseInt(long.slice(i, i + 2), 16));
  };

  // A matrix of bytes: 127 is zero, 255 is missing; the middle of the scale is the colour of the page.
  const draw = (number, label, size) => {
    const canvas = make("canvas");
    canvas.width = canvas.height = side;
    canvas.style.width = canvas.style.height = size;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
    const context = canvas.getContext("2d"), image = context.createImageData(side, side);
    const [low, middle, high] = ["--low", "--paper", "--high"].map(colour);
    let at = number * area;
    for (let i = 0; i < side; i++) {
      for (let j = i; j < side; j++, at++) {
        const value = bytes[at] / 127 - 1, end = value < 0 ? low : high, share = Math.abs(value);
        const pixel = middle.map((c, k) => c + share * (end[k] - c));
        for (const place of [i * side + j, j * side + i])
          image.data.set(bytes[at] === 255 ? [0, 0, 0, 0] : [...pixel, 255], 4 * place);
      }
    }
    context.putImageData(image, 0, 0);
    return canvas;
  };

  const bars = group => {
    const rows = group.rows, largest = Math.max(...rows.map(row => Math.abs(row[1]))) || 1;
    const table = make("table", undefined, "bars");
    table.append(make("caption", group.title));
    const body = table.appendChild(make("tbody"));
    for (const [name, value, picture] of rows) {
      const row = body.appendChild(make("tr"));
      const cell = row.appendChild(make("th"));
      cell.scope = "row";
      if (picture >= 0) cell.append(draw(picture, `picture of ${name}`, "3.2rem"));
      cell.append(make("span", name));
      row.append(make("td", value.toPrecision(3)));
      const bar = row.appendChild(make("td", undefined, "bar")).appendChild(make("i"));
      bar.style.width = `${100 * Math.abs(value) / largest}%`;
      if (value < 0) bar.className = "negative";
    }
    return table;
  };

  const show = () => {
    const item = data.items[list.value];
    detail.replaceChildren();
    if (!item) return;
    detail.append(make("h3", item.name));
    for (const line of item.lines) detail.append(make("p", line));
    if (item.picture >= 0) detail.append(draw(item.picture, `picture of ${item.name}`, "9rem"));
    for (const group of item.groups) if (group.rows.length) detail.append(bars(group));
    location.replace(`#${encodeURIComponent(list.value)}`);
  };

  const fill = () => {
    const kept = data.items.map((item, number) => [item, number])
      .filter(([item]) => filter.value === "all" || item.kinds.includes(filter.value));
    list.replaceChildren(...kept.map(([item, number]) => new Option(item.name, number)));
    list.selectedIndex = kept.length ? 0 : -1;
    show();
  };

  const kinds = [...new Set(data.items.flatMap(item => item.kinds))];
  for (const kind of ["all", ...kinds]) {
    const count = kind === "all" ? data.items.length : data.items.filter(item => item.kinds.includes(kind)).length;
    filter.append(new Option(`${kind} (${count})`, kind));
  }
  const linked = decodeURIComponent(location.hash.slice(1));
  filter.addEventListener("change", fill);
  list.addEventListener("change", show);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  fill();
  if (/^\d+$/.test(linked) && data.items[linked]) {
    list.value = linked;
    show();
  }
})();
