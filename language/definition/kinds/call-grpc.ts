import { z } from 'zod';
import { externalResource, freeObject, name, referenceableAuthentication } from '../common-shapes.ts';
import { at, own } from '../problems.ts';
import { checkAuthentication, checkEndpoint } from '../reusable.ts';
import { exact } from '../shape.ts';
import { inTask, type Call } from './kind.ts';

export const grpcCall: Call = {
  arguments: exact({
    proto: externalResource,
    service: exact({
      name,
      host: z.string().regex(/^[a-zA-Z0-9](?:[a-zA-Z0-9-.]{0,61}[a-zA-Z0-9])?$/, 'has to be a host name'),
      port: z.int().min(0, 'has to be a port').max(65_535, 'has to be a port').optional(),
      authentication: referenceableAuthentication.optional(),
    }),
    method: name,
    arguments: freeObject.optional(),
  }),
  check(parameters, pointer, locals, checker) {
    checkEndpoint(own(parameters['proto'], 'endpoint'), at(pointer, 'proto', 'endpoint'), locals, checker);
    checker.template(parameters['arguments'], at(pointer, 'arguments'), inTask(locals, 'allow'));
    checkAuthentication(
      own(parameters['service'], 'authentication'),
      at(pointer, 'service', 'authentication'),
      locals,
      checker,
    );
  },
};
