import { canonicalJson } from '../../contracts/canonical-json.ts';
import {
  checkForeignSource,
  createSource,
  deleteSource,
  findOwnSource,
  findOwnSourceOf,
  updateSource,
  type EventSource,
} from '../events/sources.ts';
import { checkQuota } from '../quotas/check.ts';
import type { Applier, EventSourceResource } from './resources.ts';

const COMPARED = ['source', 'client_id', 'user_id', 'shared_with', 'description'] as const;

export const eventSourceApplier: Applier<EventSourceResource, EventSource> = {
  // A holder has one record of a source.
  isNamed: true,
  find: ({ em, holder }, id) => findOwnSource(em, holder, id),
  async alike({ em, holder }, { fields }) {
    const state = await findOwnSourceOf(em, holder, fields.source);
    return state === null ? [] : [{ id: state.id, state }];
  },
  async changes(_context, source, { fields }) {
    return COMPARED.filter((name) => canonicalJson(fields[name]) !== canonicalJson(source[name]));
  },
  async create(context, { fields }) {
    const { em, actor, limits, baseUrl, holder } = context;
    context.checkPerson();
    checkForeignSource(fields.source, baseUrl);
    const id = await createSource(em, actor, { ...fields, team_id: context.teamId });
    await checkQuota(em, limits, 'event_sources', holder);
    return id;
  },
  async update(context, source, { fields }) {
    const { em, baseUrl } = context;
    context.checkPerson();
    checkForeignSource(fields.source, baseUrl);
    await updateSource(em, source, fields);
  },
  // A binding that is not in force says nothing, so there is nothing to keep.
  async archive(context, source) {
    context.checkPerson();
    await deleteSource(context.em, source);
  },
};
