// Follows a run by server-sent events; without it the page looks again by itself.
const region = document.querySelector("[data-events]");
const bar = region.querySelector("progress");
const state = region.querySelector("[data-part=state]");
const words = region.querySelector("[data-part=words]");

const stream = new EventSource(region.dataset.events);
stream.onmessage = (event) => {
  const told = JSON.parse(event.data);
  state.textContent = told.state;
  state.className = `tag ${told.state}`;
  words.textContent = told.words;
  if (told.total) {
    bar.max = told.total;
    bar.value = told.done;
  }
  if (told.final) {
    stream.close();
    location.reload();
  }
};
