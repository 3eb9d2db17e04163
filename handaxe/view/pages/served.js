// Data source of pages served by `handaxe view`.
export const LIVE = true;

// Address of the bytes of an image; null if they are not here.
export async function imageAddress(run, digest) {
  return `image/${encodeURIComponent(digest)}?${new URLSearchParams({ run })}`;
}

export async function ask(question, params = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== "" && value !== null && value !== undefined));
  const reply = await fetch(`api/${question}?${query}`, { headers: { accept: "application/json" } });
  const body = await reply.json().catch(() => ({ error: `the server answered ${reply.status}` }));
  if (!reply.ok) throw new Error(body.error);
  return body;
}
