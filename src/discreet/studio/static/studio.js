// What pages cannot do without a script: sliders on a logarithmic scale, files by drag and drop, one click per form.
"use strict";

function short(value) {
  return String(Number(value.toPrecision(value < 1 ? 2 : 3)));
}

function ready(root) {
  for (const slider of root.querySelectorAll("[data-power]")) {
    const number = document.getElementById(slider.dataset.power);
    const place = () => { slider.value = Math.round(100 * Math.log10(Number(number.value) || 1)); };
    place();
    slider.addEventListener("input", () => { number.value = short(Math.pow(10, slider.value / 100)); });
    number.addEventListener("input", place);
  }
  for (const slider of root.querySelectorAll("[data-low]")) {
    const shown = slider.closest(".slide").querySelector("output");
    const low = Number(slider.dataset.low), high = Number(slider.dataset.high);
    slider.addEventListener("input", () => {
      const share = slider.value / 100;
      const value = slider.dataset.log === "1" ? low * Math.pow(high / low, share) : low + (high - low) * share;
      shown.textContent = String(Number(value.toPrecision(3)));
    });
  }
  for (const form of root.querySelectorAll("form[data-once]")) {
    form.addEventListener("submit", () => {
      for (const button of form.querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
    });
  }
  for (const area of root.querySelectorAll(".drop")) dropping(area);
}

function dropping(area) {
  const input = document.getElementById(area.htmlFor);
  for (const name of ["dragenter", "dragover"]) {
    area.addEventListener(name, (event) => { event.preventDefault(); area.classList.add("over"); });
  }
  for (const name of ["dragleave", "drop"]) {
    area.addEventListener(name, (event) => { event.preventDefault(); area.classList.remove("over"); });
  }
  area.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
  if (input.id === "files") input.addEventListener("change", () => { if (input.files.length) input.form.requestSubmit(); });
}

function uploading() {
  const place = document.getElementById("upload");
  if (!place) return;
  place.hidden = false;
  const said = document.getElementById("upload-said"), bar = document.getElementById("progress");
  document.getElementById("file").addEventListener("change", (event) => {
    const file = event.target.files[0];
    if (!file) return;
    const request = new XMLHttpRequest();
    request.open("POST", place.dataset.to);
    request.setRequestHeader("X-CSRF-Token", document.body.dataset.csrf);
    request.setRequestHeader("X-File-Name", encodeURIComponent(file.name));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    bar.hidden = false;
    request.upload.addEventListener("progress", (step) => { bar.value = (100 * step.loaded) / (step.total || 1); });
    request.addEventListener("load", () => {
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { answer = { error: String(request.status) }; }
      if (answer.next) window.location.assign(answer.next);
      else said.textContent = [answer.error, answer.hint].filter(Boolean).join(" ");
    });
    request.addEventListener("error", () => { said.textContent = "…"; });
    request.send(file);
  });
}

document.addEventListener("DOMContentLoaded", () => {
  // htmx notes the address of the page, for a history that is switched off; nothing is to stay in the browser
  window.sessionStorage.clear();
  ready(document);
  uploading();
  document.body.addEventListener("htmx:afterSwap", (event) => {
    ready(event.detail.target);
    const kept = window.studioFocus && document.getElementById(window.studioFocus);
    if (kept && event.detail.target.contains(kept)) kept.focus();
  });
  document.body.addEventListener("htmx:beforeSwap", () => {
    window.studioFocus = document.activeElement && document.activeElement.id;
  });
});
