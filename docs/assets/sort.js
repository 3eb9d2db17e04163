// Sorts a table by the column whose heading is clicked; a second click reverses.
document.addEventListener("click", (event) => {
  const heading = event.target.closest("article table thead th");
  if (!heading) return;
  const table = heading.closest("table"), body = table.tBodies[0];
  const column = [...heading.parentNode.children].indexOf(heading);
  const descending = heading.getAttribute("aria-sort") === "ascending";
  const value = (row) => row.children[column]?.textContent.trim() ?? "";
  const rows = [...body.rows].sort((a, b) => value(a).localeCompare(value(b), undefined, { numeric: true }));
  for (const other of heading.parentNode.children) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  body.append(...(descending ? rows.reverse() : rows));
});
