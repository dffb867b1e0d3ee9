// What was wrong is read first.
document.getElementById("faults")?.focus();
