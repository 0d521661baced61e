import { z } from 'zod';
import { endpoint, externalResource, freeObject, name } from '../common-shapes.ts';
import { at, own } from '../problems.ts';
import { checkEndpoint } from '../reusable.ts';
import { byType, exact, refuse } from '../shape.ts';
import { inTask, type Call } from './kind.ts';

const METHODS = [
  'message/send',
  'message/stream',
  'tasks/get',
  'tasks/list',
  'tasks/cancel',
  'tasks/resubscribe',
  'tasks/pushNotificationConfig/set',
  'tasks/pushNotificationConfig/get',
  'tasks/pushNotificationConfig/list',
  'tasks/pushNotificationConfig/delete',
  'agent/getAuthenticatedExtendedCard',
];

export const a2aCall: Call = {
  arguments: exact({
    method: z.enum(METHODS),
    agentCard: externalResource.optional(),
    server: endpoint.optional(),
    parameters: byType({ object: freeObject, string: name }).optional(),
  }).check((context) => {
    if (context.value.agentCard === undefined && context.value.server === undefined)
      refuse(context, 'needs one of: agentCard, server');
  }),
  check(parameters, pointer, locals, checker) {
    checkEndpoint(
      own(parameters['agentCard'], 'endpoint'),
      at(pointer, 'agentCard', 'endpoint'),
      locals,
      checker,
      'allow',
    );
    checkEndpoint(parameters['server'], at(pointer, 'server'), locals, checker, 'allow');
    checker.transformation(parameters['parameters'], at(pointer, 'parameters'), inTask(locals, 'allow'));
  },
};
