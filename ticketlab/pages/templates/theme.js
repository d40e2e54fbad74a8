try {
  const chosen = localStorage.getItem("ticketlab-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {}
