import { z } from 'zod';
import {
  duration,
  externalResource,
  freeObject,
  iterator,
  name,
  referenceableAuthentication,
  text,
} from '../common-shapes.ts';
import { checkHeaders } from '../headers.ts';
import { at, own } from '../problems.ts';
import { checkAuthentication, checkDuration, checkEndpoint } from '../reusable.ts';
import { exact, refuse } from '../shape.ts';
import { checkWebAddress } from './call-http.ts';
import { inTask, type Call } from './kind.ts';
import { checkIterator } from './listen.ts';

const PROTOCOLS = [
  'amqp',
  'amqp1',
  'anypointmq',
  'googlepubsub',
  'http',
  'ibmmq',
  'jms',
  'kafka',
  'mercure',
  'mqtt',
  'mqtt5',
  'nats',
  'pulsar',
  'redis',
  'sns',
  'solace',
  'sqs',
  'stomp',
  'ws',
];

/** Those with a library and tests against a real counterpart. */
const CALLABLE = ['http', 'ws', 'mqtt', 'mqtt5', 'nats', 'amqp', 'kafka'];

const consume = exact({
  for: duration.optional(),
  amount: z.int().min(1, 'must be at least 1').optional(),
  while: text.optional(),
  until: text.optional(),
}).check((context) => {
  const { amount, while: during, until } = context.value;
  if ([amount, during, until].filter((value) => value !== undefined).length !== 1)
    refuse(context, 'needs exactly one of: amount, while, until');
});

export const asyncapiCall: Call = {
  arguments: exact({
    document: externalResource,
    channel: name.optional(),
    operation: name.optional(),
    server: exact({ name, variables: freeObject.optional() }).optional(),
    protocol: z.enum(PROTOCOLS).optional(),
    message: exact({ payload: freeObject.optional(), headers: freeObject.optional() }).optional(),
    subscription: exact({ filter: text.optional(), consume, foreach: iterator.optional() }).optional(),
    authentication: referenceableAuthentication.optional(),
  }).check((context) => {
    const { channel, operation, message, subscription } = context.value;
    if ((channel === undefined) === (operation === undefined))
      refuse(context, 'needs exactly one of: channel, operation');
    if ((message === undefined) === (subscription === undefined))
      refuse(context, 'needs exactly one of: message, subscription');
  }),
  check(parameters, pointer, locals, checker) {
    checkEndpoint(
      own(parameters['document'], 'endpoint'),
      at(pointer, 'document', 'endpoint'),
      locals,
      checker,
      'allow',
    );
    checkWebAddress(own(parameters['document'], 'endpoint'), at(pointer, 'document', 'endpoint'), checker);
    const { protocol } = parameters;
    if (typeof protocol === 'string' && PROTOCOLS.includes(protocol) && !CALLABLE.includes(protocol))
      checker.problems.unsupported(
        at(pointer, 'protocol'),
        'unsupported_asyncapi_protocol',
        `${protocol} is not supported yet, only ${CALLABLE.join(', ')}: use call: http to a gateway`,
      );
    for (const key of ['channel', 'operation'])
      checker.text(parameters[key], at(pointer, key), inTask(locals));
    checker.template(
      own(parameters['server'], 'variables'),
      at(pointer, 'server', 'variables'),
      inTask(locals, 'allow'),
    );
    checker.template(parameters['message'], at(pointer, 'message'), inTask(locals, 'allow'));
    // Other protocols have headers of their own kind.
    if (protocol === 'http')
      checkHeaders(own(parameters['message'], 'headers'), at(pointer, 'message', 'headers'), checker);
    checkAuthentication(parameters['authentication'], at(pointer, 'authentication'), locals, checker);
    const subscription = parameters['subscription'];
    const place = at(pointer, 'subscription');
    checker.expression(own(subscription, 'filter'), at(place, 'filter'), inTask(locals));
    const consumed = own(subscription, 'consume');
    checkDuration(own(consumed, 'for'), at(place, 'consume', 'for'), inTask(locals), checker);
    for (const key of ['while', 'until'])
      checker.expression(own(consumed, key), at(place, 'consume', key), inTask(locals));
    checkIterator(own(subscription, 'foreach'), at(place, 'foreach'), locals, checker);
  },
};
