/** Request schemas of the marketplace. */
import * as z from 'zod';

import type { ItemCursor, ItemSort } from '../../../domain/marketplace/lists.ts';
import { flag, instant, text, timestamp, uuid } from '../../schemas.ts';

const words = (most: number) => z.array(text({ min: 1, max: 100 })).max(most);
const longText = text({ max: 100_000 });

export const newItem = z.object({
  kind: z.enum(['agent', 'workflow']),
  ref_id: uuid,
  version: z
    .union([text({ min: 1, max: 50 }), z.int().min(1).max(2_147_483_647)])
    .transform(String)
    .meta({
      description: 'A published version of the agent, or the number of a valid revision of the workflow.',
    }),
  name: text({ min: 1, max: 255 }).optional(),
  summary: text({ max: 500 }).nullish(),
  description: longText.nullish(),
  categories: words(20).nullish(),
  tags: words(50).nullish(),
  license: text({ max: 100 }).nullish(),
  include_agents: z
    .boolean()
    .nullish()
    .meta({ description: 'For a workflow: also submit the own private agents that it uses.' }),
});

export const installation = z.object({
  secrets: z
    .record(z.string().max(600), z.string().max(255))
    .nullish()
    .meta({
      description:
        "Maps names in the item's `requires.secrets` to names of own secrets, or of the team's. " +
        'For an agent that comes with a workflow the name is `<agent>/<NAME>`.',
    }),
  team_id: uuid.nullish().meta({ description: 'A team, for which it is installed. Default: for you.' }),
});

export const newReview = z.object({ rating: z.int().min(1).max(5), text: text({ max: 10_000 }).nullish() });

const reviewed = text({ min: 1, max: 50 })
  .optional()
  .meta({ description: 'Default: the latest submitted version that awaits moderation.' });
const digest = z
  .string()
  .max(64)
  .nullish()
  .meta({ description: 'Of what was reviewed: 409 `content_changed` if the version has other content.' });
const submittedAt = timestamp.nullish().meta({
  description:
    'When what was reviewed was submitted: 409 `content_changed` if it was submitted again since, such as ' +
    'with another description.',
});
const seen = { version: reviewed, digest, submitted_at: submittedAt };
export const approval = z.object({ ...seen, reason: text({ max: 2_000 }).nullish() });
export const rejection = z.object({ ...seen, reason: text({ min: 1, max: 2_000 }) });

export const itemFilters = {
  kind: z.enum(['agent', 'workflow']).optional(),
  category: z.string().max(100).optional(),
  tag: z.string().max(100).optional(),
  publisher: z.string().max(255).optional().meta({ description: 'Id or username.' }),
  status: z.enum(['submitted', 'approved', 'rejected', 'withdrawn']).optional(),
  ref_id: uuid.optional().meta({ description: 'The published agent or workflow.' }),
  waiting: flag.optional().meta({
    description: 'Items with a version that awaits moderation; except for admins, own items only.',
  }),
  q: z.string().max(255).optional().meta({ description: 'Text in the name, summary or description.' }),
  sort: z.enum(['new', 'installs', 'rating']).default('new'),
};

const count = z.int().min(0).max(2_147_483_647);
/** The sort key in a cursor, by the order of the list. */
export const itemCursors: Record<ItemSort, z.ZodType<ItemCursor>> = {
  new: z.tuple([instant, z.guid()]).transform((after) => ({ sort: 'new', after })),
  installs: z.tuple([count, z.guid()]).transform((after) => ({ sort: 'installs', after })),
  rating: z
    .tuple([z.number().min(0).max(5), count, z.guid()])
    .transform((after) => ({ sort: 'rating', after })),
};
