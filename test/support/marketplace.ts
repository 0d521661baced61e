/** Agents, workflows and items as users create them, for tests of the marketplace. */
import { agentBody } from './agent-body.ts';
import type { Client, Reply } from './app.ts';

// Tests read any property of a response.
type Body = any; // oxlint-disable-line typescript/no-explicit-any

function ok(reply: Reply, status: number): Body {
  if (reply.status !== status)
    throw new Error(`${reply.status} instead of ${status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/** An agent whose version is published. */
export async function publishedAgent(client: Client, more: Record<string, unknown> = {}): Promise<Body> {
  const agent = ok(await client.post('/agents', agentBody(more)), 201);
  ok(await client.post(`/agents/${agent.id}/versions/${agent.version}/publish`), 200);
  return agent;
}

export async function createdWorkflow(
  client: Client,
  definition: Record<string, unknown>,
  more: Record<string, unknown> = {},
): Promise<Body> {
  return ok(await client.post('/workflows', { name: 'a workflow', definition, ...more }), 201);
}

export async function submitted(
  client: Client,
  what: { id: string; version?: string; revision?: number },
  more: Record<string, unknown> = {},
): Promise<Body> {
  const kind = what.revision === undefined ? 'agent' : 'workflow';
  return ok(
    await client.post('/marketplace/items', {
      kind,
      ref_id: what.id,
      version: what.version ?? what.revision,
      ...more,
    }),
    201,
  );
}

/** Approves a version as it is now; default: the one that was submitted last. */
export async function approve(
  admin: Client,
  id: string,
  more: { version?: string; reason?: string } = {},
): Promise<Reply> {
  const { versions } = ok(await admin.get(`/marketplace/items/${id}`), 200);
  const chosen = versions.find(({ version, status }: Body) =>
    more.version === undefined ? status === 'submitted' : version === more.version,
  );
  const digest = chosen?.digest ?? 'none';
  return admin.post(`/marketplace/items/${id}/approve`, { digest, ...more });
}

/** An item that was submitted and approved. */
export async function approvedItem(
  client: Client,
  admin: Client,
  what?: Body,
  more: Record<string, unknown> = {},
): Promise<Body> {
  const item = await submitted(client, what ?? (await publishedAgent(client)), more);
  return ok(await approve(admin, item.id), 200);
}

export async function installed(
  client: Client,
  item: { id: string },
  secrets: Record<string, string> = {},
): Promise<Body> {
  return ok(await client.post(`/marketplace/items/${item.id}/install`, { secrets }), 201);
}

/** A repeated installation, which returns the existing copy. */
export async function installedAgain(
  client: Client,
  item: { id: string },
  secrets: Record<string, string> = {},
): Promise<Body> {
  return ok(await client.post(`/marketplace/items/${item.id}/install`, { secrets }), 200);
}

/** The records of all pages of a list. */
export async function everyPage(client: Client, path: string): Promise<Body[]> {
  const all: Body[] = [];
  let next: string | undefined = path;
  while (next !== undefined) {
    const reply: Reply = await client.get(next);
    all.push(...ok(reply, 200));
    next = /<([^>]+)>; rel="next"/.exec(reply.headers.get('link') ?? '')?.[1];
  }
  return all;
}
