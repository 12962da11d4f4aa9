// Comfort only: every page works without it. The keys 1 to 9 choose an answer, Enter sends it.
document.addEventListener("keydown", (event) => {
  const field = event.target.closest("input:not([type=radio]), textarea, select, button, a, summary");
  if (field || event.ctrlKey || event.metaKey || event.altKey) return;
  const choices = document.querySelectorAll("input[type=radio][name=answer]");
  const chosen = choices[Number(event.key) - 1];
  if (chosen) {
    chosen.checked = true;
    chosen.focus();
  } else if (event.key === "Enter" && document.querySelector("input[type=radio][name=answer]:checked")) {
    event.preventDefault();
    choices[0].form.requestSubmit();
  }
});
