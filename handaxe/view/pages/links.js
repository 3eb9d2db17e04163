// Addresses of pages: they stand after the # of the address, so that a report on a disk has them too.

// {page: ["run", NAME, "attempt", "3"], asked: Map} of an address such as #/run/NAME/attempt/3?token=0.12
export function read(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
  return { parts, asked: new URLSearchParams(query) };
}

export function to(parts, asked = {}) {
  const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== null && value !== undefined && value !== "")).toString();
  return `#/${parts.map((part) => encodeURIComponent(part)).join("/")}${query ? `?${query}` : ""}`;
}

// Changes the address without another entry in the history, and without drawing the page anew.
export function note(asked) {
  const { parts } = read(location.hash);
  history.replaceState(null, "", to(parts, asked));
}
