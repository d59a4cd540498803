"use strict";
// Intervals of another probability: every number comes from the quantiles in the page.
(() => {
  const data = JSON.parse(document.getElementById("quantiles").textContent);
  const slider = document.getElementById("probability");
  const shown = document.getElementById("probability-shown");
  const at = (values, q) => {
    const place = q * (values.length - 1), k = Math.min(Math.floor(place), values.length - 2);
    return values[k] + (place - k) * (values[k + 1] - values[k]);
  };
  const day = (x) => new Date(Math.round(x) * 86400000).toISOString().slice(0, 10);
  const print = (one, x) => (one.dates ? day(x) : x.toFixed(one.decimals));
  const refresh = () => {
    const prob = Number(slider.value) / 100;
    shown.textContent = `${slider.value}%`;
    for (const one of data) {
      const low = at(one.values, (1 - prob) / 2), high = at(one.values, (1 + prob) / 2);
      for (const place of document.querySelectorAll(`[data-interval="${one.id}"]`))
        place.textContent = `${print(one, low)} to ${print(one, high)}`;
      const band = document.querySelector(`[data-band="${one.id}"]`);
      if (band) {
        const x = (value) => one.left + ((value - one.first) / (one.last - one.first)) * one.wide;
        band.setAttribute("x", x(Math.max(low, one.first)));
        band.setAttribute("width", Math.max(x(Math.min(high, one.last)) - x(Math.max(low, one.first)), 0));
      }
    }
    for (const place of document.querySelectorAll("[data-prob]")) place.textContent = `${slider.value}%`;
  };
  slider.addEventListener("input", refresh);
  // values under the pointer
  for (const one of data) {
    const picture = document.querySelector(`svg[data-picture="${one.id}"]`);
    if (!picture) continue;
    const note = picture.querySelector(".hover");
    picture.addEventListener("pointermove", (event) => {
      const box = picture.getBoundingClientRect(), scale = picture.viewBox.baseVal.width / box.width;
      const value = one.first + (((event.clientX - box.left) * scale - one.left) / one.wide) * (one.last - one.first);
      if (value < one.first || value > one.last) { note.textContent = ""; return; }
      let below = one.values.findIndex((x) => x > value);
      if (below < 0) below = one.values.length;
      note.textContent = `${print(one, value)}: ${((100 * below) / one.values.length).toFixed(1)}% below`;
    });
    picture.addEventListener("pointerleave", () => { note.textContent = ""; });
  }
})();
