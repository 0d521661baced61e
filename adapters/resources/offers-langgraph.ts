/** The assistants of a LangGraph server (its API: "Search Assistants", "Get Assistant Schemas"). */
import { isRecord } from '../../contracts/is-record.ts';
import { withoutEnd } from '../../contracts/text-end.ts';
import type { SourceOffer } from '../../domain/ports.ts';
import { fieldText, type SourceCall } from './source-call.ts';

const MAX_ASSISTANTS = 100;
const MAX_SCHEMA_BYTES = 64 * 1024;

export async function langgraphOffers(
  call: SourceCall,
  select: readonly string[] | null,
): Promise<SourceOffer[]> {
  const base = withoutEnd(call.url, '/');
  const found = await call.json(`${base}/assistants/search`, {
    method: 'POST',
    body: { limit: MAX_ASSISTANTS, offset: 0 },
  });
  const assistants = (Array.isArray(found) ? found : []).filter(isRecord).slice(0, MAX_ASSISTANTS);
  const offers: SourceOffer[] = [];
  for (const assistant of assistants) {
    const id = fieldText(assistant, 'assistant_id', 255);
    if (id === null) continue;
    const graph = fieldText(assistant, 'graph_id', 255);
    const name = fieldText(assistant, 'name', 255) ?? graph ?? id;
    if (select !== null && ![id, graph, name].some((one) => one !== null && select.includes(one))) continue;
    offers.push({
      select: id,
      fields: {
        name,
        description: fieldText(assistant, 'description'),
        type: 'api',
        execution_type: 'framework',
        url: null,
        configuration: { framework: 'langgraph', base_url: call.url, assistant_id: id },
        input_schema: await inputSchema(call, `${base}/assistants/${encodeURIComponent(id)}/schemas`),
        output_schema: null,
        capabilities_streaming: false,
        provider_name: null,
      },
      skills: [],
    });
  }
  return offers;
}

/** Null if the server cannot tell or says too much; many graphs have no schema that could be written down. */
async function inputSchema(call: SourceCall, url: string): Promise<Record<string, unknown> | null> {
  const { status, bytes } = await call.send(url);
  if (status !== 200 || bytes.length > MAX_SCHEMA_BYTES) return null;
  try {
    const schemas: unknown = JSON.parse(Buffer.from(bytes).toString());
    const input = isRecord(schemas) ? schemas['input_schema'] : null;
    return isRecord(input) ? input : null;
  } catch {
    return null;
  }
}
