// Puts a slider beside each number of importance; without script the numbers alone do.
for (const number of document.querySelectorAll("input[data-slider]")) {
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = 0;
  slider.max = number.dataset.slider;
  slider.step = 0.5;
  slider.value = number.value;
  slider.setAttribute("aria-label", `${number.labels[0].textContent}, slider`);
  slider.addEventListener("input", () => {
    number.value = slider.value;
  });
  number.addEventListener("input", () => {
    slider.value = number.value;
  });
  number.before(slider);
}

// What was wrong is read first.
document.getElementById("faults")?.focus();
