/** An agent of another platform, by its A2A card. */
import { cutTo } from '../../contracts/cut-text.ts';
import { Fault } from '../../contracts/fault.ts';
import type { SourceOffer } from '../../domain/ports.ts';
import { createCardSource } from '../a2a/agent-card.ts';
import type { SourceCall } from './source-call.ts';

const MAX_SKILLS = 100;
const MAX_DESCRIPTION = 10_000;

export async function a2aOffers(call: SourceCall): Promise<SourceOffer[]> {
  const card = await readCard(call);
  const { name, description, provider, capabilities } = card;
  return [
    {
      select: name,
      fields: {
        name: cutTo(name, 255),
        description: description.slice(0, MAX_DESCRIPTION) || null,
        type: 'a2a',
        execution_type: null,
        url: call.url,
        configuration: {},
        input_schema: null,
        output_schema: null,
        capabilities_streaming: capabilities?.streaming === true,
        provider_name: provider?.organization?.slice(0, 100) || null,
      },
      skills: card.skills.slice(0, MAX_SKILLS).map((skill) => ({
        name: (skill.name || skill.id).slice(0, 100),
        description: skill.description.slice(0, MAX_DESCRIPTION) || null,
        tags: skill.tags.slice(0, 100),
        examples: skill.examples.slice(0, 100),
        input_modes: skill.inputModes.slice(0, 100),
        output_modes: skill.outputModes.slice(0, 100),
      })),
    },
  ];
}

export function readCard(call: SourceCall): ReturnType<ReturnType<typeof createCardSource>['card']> {
  const { card_url: cardUrl } = call.agent.configuration;
  const address = {
    url: call.url === '' ? null : call.url,
    card_url: typeof cardUrl === 'string' ? call.guard.sensitive.fill(cardUrl) : undefined,
    reader: call.agent.id,
  };
  // A source of its own: a check must not read what was kept before.
  return createCardSource().card(address, async (place) => {
    try {
      return await call.json(place, { method: 'GET' });
    } catch (error) {
      if (error instanceof Fault && [404, 405, 410].includes(error.error.status)) return null;
      throw error;
    }
  });
}
