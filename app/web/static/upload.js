// Takes a file that is dropped and shows how far it is sent; without it the form is sent as forms are.
const show = (form, share, words) => {
  form.querySelector("[data-sending]").hidden = false;
  form.querySelector("progress").value = share;
  form.querySelector("[data-words]").textContent = words;
};

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

const refuse = (form, words) => {
  form.querySelector("button").disabled = false;
  show(form, 0, words);
};

const answered = (form, request) => {
  if (request.status === 201) {
    location.assign(request.getResponseHeader("Location"));
    return;
  }
  const page = new DOMParser().parseFromString(request.responseText, "text/html");
  const main = page.querySelector("main");
  if (!main) {
    refuse(form, "The service did not answer as it should. Please try again.");
    return;
  }
  document.title = page.title;
  // What was chosen stays chosen, so that whoever says which sheet it is need not look for the file again.
  const { files } = document.querySelector("main input[type=file]");
  document.querySelector("main").replaceWith(main);
  const input = main.querySelector("input[type=file]");
  if (input) input.files = files;
  (document.querySelector("#faults") ?? document.querySelector("main")).focus();
};

document.addEventListener("submit", (event) => {
  const form = event.target.closest("[data-upload]");
  if (!form) return;
  event.preventDefault();
  form.querySelector("button").disabled = true;
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.setRequestHeader("Accept", "text/html");
  request.setRequestHeader("Prefer", "return=minimal");
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    const said = loaded < total ? `${megabytes(loaded)} of ${megabytes(total)}` : "All sent; it is being read.";
    show(form, loaded / total, said);
  });
  request.addEventListener("load", () => answered(form, request));
  request.addEventListener("error", () => refuse(form, "The connection broke off. Nothing was kept; please send it again."));
  request.send(new FormData(form));
});

document.addEventListener("dragover", (event) => {
  const drop = event.target.closest?.("[data-drop]");
  if (!drop) return;
  event.preventDefault();
  drop.classList.add("over");
});

document.addEventListener("dragleave", (event) => event.target.closest?.("[data-drop]")?.classList.remove("over"));

document.addEventListener("drop", (event) => {
  const drop = event.target.closest?.("[data-drop]");
  if (!drop) return;
  event.preventDefault();
  drop.classList.remove("over");
  if (event.dataTransfer.files.length) drop.querySelector("input").files = event.dataTransfer.files;
});
