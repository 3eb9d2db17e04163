// Data source of pages served by `handaxe view`.
export const LIVE = true;

export async function ask(question, params = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== "" && value !== null && value !== undefined));
  const reply = await fetch(`api/${question}?${query}`, { headers: { accept: "application/json" } });
  const body = await reply.json().catch(() => ({ error: `the server answered ${reply.status}` }));
  if (!reply.ok) throw new Error(body.error);
  return body;
}
