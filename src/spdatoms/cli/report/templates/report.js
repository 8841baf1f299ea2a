// Shows one item of a list at a time: its text, its picture, and groups of bars with pictures.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const [filter, list, detail] = ["filter", "list", "detail"].map(id => document.getElementById(id));
  const decoded = text => Uint8Array.from(atob(text || ""), character => character.charCodeAt(0));
  const bytes = decoded(data.values), scalps = decoded(data.scalps);
  const side = data.side, area = side * (side + 1) / 2, places = data.places || [];
  const sheet = new Image();

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

  const named = (element, label, size) => {
    element.style.width = size;
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", label);
    return element;
  };

  // A matrix of bytes: 127 is zero, 255 is missing; the middle of the scale is the colour of the page.
  const matrix = number => {
    const canvas = make("canvas");
    canvas.width = canvas.height = side;
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

  const shape = (parent, tag, attributes) => {
    const element = parent.appendChild(document.createElementNS("http://www.w3.org/2000/svg", tag));
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };

  // A head from above, with a dot per channel.
  const scalp = values => {
    const radius = Math.min(.14, 1 / Math.sqrt(places.length));
    const reach = Math.max(1.18, ...places.flat().map(at => Math.abs(at) + radius + .02));
    const svg = shape(make("div"), "svg", {viewBox: [-reach, -reach, 2 * reach, 2 * reach].join(" "), class: "scalp"});
    shape(svg, "path", {d: "M-.15 -.99L0 -1.15L.15 -.99"});
    shape(svg, "circle", {r: 1});
    places.forEach(([x, y], k) => {
      const value = values[k] / 127 - 1, end = value < 0 ? "low" : "high";
      const fill = `color-mix(in srgb, var(--${end}) ${Math.round(100 * Math.abs(value))}%, var(--paper))`;
      shape(svg, "circle", {cx: x, cy: -y, r: radius, fill: values[k] === 255 ? "none" : fill});
    });
    return svg;
  };

  const photograph = number => {
    const canvas = make("canvas"), [width, height] = data.tile;
    [canvas.width, canvas.height] = data.tile;
    const x = number % data.columns * width, y = Math.floor(number / data.columns) * height;
    canvas.getContext("2d").drawImage(sheet, x, y, width, height, 0, 0, width, height);
    canvas.className = "photograph";
    return canvas;
  };

  const variances = number => scalp(scalps.subarray(number * places.length, (number + 1) * places.length));
  const draw = (number, label, size) =>
    named(number < -1 ? photograph(-2 - number) : (places.length ? variances : matrix)(number), label, size);

  // The pictures of the chosen item, each with what it shows.
  const pictures = item => {
    const shown = [[draw(item.picture, `picture of ${item.name}`, "9rem"), places.length ? "log variances" : ""]];
    if (places.length) shown.push([named(matrix(item.picture), `correlations of ${item.name}`, "9rem"), "correlations"]);
    if (item.channels) shown.push([named(scalp(decoded(item.channels)), "channels that decided", "9rem"), "channels that decided"]);
    const row = make("div", undefined, "pictures");
    for (const [picture, caption] of shown) {
      const figure = row.appendChild(make("figure"));
      figure.append(picture);
      if (caption) figure.append(make("figcaption", caption));
    }
    return row;
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
      if (picture !== -1) cell.append(draw(picture, `picture of ${name}`, data.sheet || data.places ? "4.5rem" : "3.2rem"));
      cell.append(make("span", name));
      row.append(make("td", Number.isInteger(value) ? value : value.toPrecision(3)));
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
    if (item.picture !== -1) detail.append(pictures(item));
    for (const group of item.groups) if (group.rows.length) detail.append(bars(group));
    location.replace(`#${encodeURIComponent(list.value)}`);
  };

  const fill = chosen => {
    const kept = data.items.map((item, number) => [item, number])
      .filter(([item]) => filter.value === "all" || item.kinds.includes(filter.value));
    list.replaceChildren(...kept.map(([item, number]) => new Option(item.name, number)));
    list.selectedIndex = kept.length ? 0 : -1;
    if (chosen) list.value = chosen;
    show();
  };

  const kinds = [...new Set(data.items.flatMap(item => item.kinds))];
  for (const kind of ["all", ...kinds]) {
    const count = kind === "all" ? data.items.length : data.items.filter(item => item.kinds.includes(kind)).length;
    filter.append(new Option(`${kind} (${count})`, kind));
  }
  filter.parentElement.hidden = !kinds.length;
  list.size = Math.max(2, Math.min(16, data.items.length));

  // The address names the item, and so do the rows of tables.
  const linked = () => /^#\d+$/.test(location.hash) && data.items[location.hash.slice(1)] ? location.hash.slice(1) : "";
  const open = () => {
    if (!linked() || linked() === list.value) return;
    filter.value = "all";
    fill(linked());
    document.getElementById("browse").scrollIntoView();
  };
  for (const cell of document.querySelectorAll("td[data-name='index']")) {
    const number = data.items.findIndex(item => item.name.startsWith(`#${cell.textContent} `));
    if (number < 0) continue;
    const link = make("a", cell.textContent);
    link.href = `#${number}`;
    cell.replaceChildren(link);
  }
  filter.addEventListener("change", () => fill());
  list.addEventListener("change", show);
  addEventListener("hashchange", open);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  if (!data.sheet) return fill(linked());
  sheet.src = `data:image/jpeg;base64,${data.sheet}`;
  sheet.decode().then(() => fill(linked()));
})();
