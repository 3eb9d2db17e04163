// Addresses of pages, after the # of the URL, which works for a report file too.

// {page: ["run", NAME, "rollout", "3"], params: Map} of an address such as #/run/NAME/rollout/3?token=0.12
export function read(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
  return { parts, params: new URLSearchParams(query) };
}

export function to(parts, params = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "")).toString();
  return `#/${parts.map((part) => encodeURIComponent(part)).join("/")}${query ? `?${query}` : ""}`;
}

// Changes the address without a history entry and without redrawing the page.
export function note(params) {
  const { parts } = read(location.hash);
  history.replaceState(null, "", to(parts, params));
}
